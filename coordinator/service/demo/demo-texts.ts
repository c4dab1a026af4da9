import type { DemoText } from './demo-text';
import texts from './demo-texts.json';

/** All texts of the demo. */
export const DEMO_TEXTS: readonly DemoText[] = texts;
