import type { DemoText } from '../demo-text';

/** [element, symbol, atomic number, state at room temperature, year of discovery, text]. CC0, see LICENSE.md. */
const ELEMENTS: [string, string, number, string, number | null, string][] = [
  ['Hydrogen', 'H', 1, 'gas', 1766, 'The lightest and most common element of the universe. It burns to water, and stars shine by fusing it.'],
  ['Helium', 'He', 2, 'gas', 1868, 'Found in the light of the Sun before anybody found it on Earth. Balloons rise with it, and magnets in hospitals are cooled by it.'],
  ['Lithium', 'Li', 3, 'solid', 1817, 'The lightest metal swims on oil. It carries the charge in the batteries of telephones and cars.'],
  ['Carbon', 'C', 6, 'solid', null, 'Soot, pencils and diamonds are the same element. It makes more compounds than all others, and all life is built on it.'],
  ['Nitrogen', 'N', 7, 'gas', 1772, 'Four fifths of the air. Plants starve for it all the same, until lightning, bacteria or factories make it into something they can use.'],
  ['Oxygen', 'O', 8, 'gas', 1774, 'It came into the air as the waste of tiny algae, and most living things of that time died of it. We breathe it.'],
  ['Neon', 'Ne', 10, 'gas', 1898, 'It reacts with nothing, and glows red in the tubes that gave city nights their letters.'],
  ['Sodium', 'Na', 11, 'solid', 1807, 'A metal that can be cut with a knife and explodes in water. With the poison chlorine it makes table salt.'],
  ['Aluminium', 'Al', 13, 'solid', 1825, 'Once dearer than gold, because it is so hard to win from its ore. Now it is cans, aeroplanes and foil, and can be melted again for ever.'],
  ['Silicon', 'Si', 14, 'solid', 1824, 'Sand and quartz are made of it. Grown as a crystal purer than anything else, it becomes chips and solar cells.'],
  ['Phosphorus', 'P', 15, 'solid', 1669, 'An alchemist boiled down buckets of urine in search of gold and found something that glows in the dark. Bones and matches hold it.'],
  ['Sulphur', 'S', 16, 'solid', null, 'Yellow crystals grow where volcanoes breathe. It makes rubber tough, and rotten eggs smell of it.'],
  ['Calcium', 'Ca', 20, 'solid', 1808, 'Bones, shells, chalk and concrete. Rain carries it to the sea, where animals build houses of it that become mountains.'],
  ['Titanium', 'Ti', 22, 'solid', 1791, 'As strong as steel at half its weight, and bone grows on it. White paint is its oxide.'],
  ['Iron', 'Fe', 26, 'solid', null, 'The heart of the Earth and the red of blood. With a little carbon it is steel, without which there are neither bridges nor needles.'],
  ['Copper', 'Cu', 29, 'solid', null, 'The first metal that people worked. It leads electricity, turns green on roofs, and with tin makes bronze.'],
  ['Silver', 'Ag', 47, 'solid', null, 'It leads heat and current better than any other metal. Its salts darken in light, and so it caught the first photographs.'],
  ['Tin', 'Sn', 50, 'solid', null, 'Soft and white, it keeps cans from rusting and solders wires. In great cold it falls to powder, as organ pipes did in northern churches.'],
  ['Iodine', 'I', 53, 'solid', 1811, 'Its crystals rise as violet vapour without melting. The thyroid needs a trace of it, so it is added to salt.'],
  ['Tungsten', 'W', 74, 'solid', 1783, 'No metal melts later. It glowed in light bulbs for a century and hardens the tips of drills.'],
  ['Gold', 'Au', 79, 'solid', null, 'It never tarnishes and can be beaten so thin that light shines through. All that was ever mined would fit into a cube of some twenty metres.'],
  ['Mercury (element)', 'Hg', 80, 'liquid', null, 'The only metal that flows at room temperature. It served thermometers and mirror makers, and poisoned hatters.'],
  ['Lead', 'Pb', 82, 'solid', null, 'Heavy, soft and easy to shape. Roman water pipes were made of it, and it stops X-rays; it harms the brain.'],
  ['Radium', 'Ra', 88, 'solid', 1898, 'Marie and Pierre Curie boiled tonnes of ore for a tenth of a gram. It glowed on watch dials until the painters fell ill.'],
  ['Uranium', 'U', 92, 'solid', 1789, 'When its core splits, it sets free a million times the energy of coal. It was first used to colour glass yellow.'],
];

export const elements: DemoText[] = ELEMENTS.map(([title, symbol, number, state, year, text]) => ({
  topic: 'elements',
  title,
  facts: { symbol, number, group: state, ...(year === null ? {} : { year }) },
  text,
}));
