import type { DemoText } from './demo-text';
import { animals } from './texts/animals';
import { countries } from './texts/countries';
import { culture } from './texts/culture';
import { elements } from './texts/elements';
import { inventions } from './texts/inventions';
import { nature } from './texts/nature';
import { space } from './texts/space';

/** All texts of the demo. */
export const DEMO_TEXTS: readonly DemoText[] = [...animals, ...countries, ...culture, ...elements, ...inventions, ...nature, ...space];
