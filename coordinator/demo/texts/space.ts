import type { DemoText } from '../demo-text';

/** [title, kind, year of its discovery or flight, text]. CC0, see LICENSE.md. */
const SPACE: [string, string, number | null, string][] = [
  ['Mercury', 'planet', null, 'The planet nearest to the Sun. By day metal would melt on it, by night it is colder than any place on Earth, because no air keeps the warmth.'],
  ['Venus', 'planet', null, 'Our bright evening star hides a surface hot enough to melt lead under clouds of sulphuric acid. Its day is longer than its year.'],
  ['Earth', 'planet', null, 'The only place where we know of life. Water covers most of it, and a large moon keeps its axis steady and its seasons mild.'],
  ['Mars', 'planet', null, 'A cold red desert with dry river beds and the highest volcano of all planets. Robots look there for traces of ancient life.'],
  ['Jupiter', 'planet', null, 'More massive than all other planets together. A storm larger than the Earth has raged in its clouds for centuries.'],
  ['Saturn', 'planet', null, 'Famous for its rings of ice, which are a quarter of a million kilometres across and in places only ten metres thick. It is so light that it would float on water.'],
  ['Uranus', 'planet', 1781, 'William Herschel found it with a telescope in his garden. It lies on its side, so that each pole has forty years of sun and forty years of night.'],
  ['Neptune', 'planet', 1846, 'Found by calculation before anybody saw it: it pulled Uranus off its path. Its winds are the fastest of all planets.'],
  ['Pluto', 'dwarf planet', 1930, 'For seventy-six years it counted as the ninth planet. A probe showed mountains of water ice and a heart-shaped plain of frozen nitrogen.'],
  ['Ceres', 'dwarf planet', 1801, 'The largest body between Mars and Jupiter. White spots in a crater are salt that came up with brine from below.'],
  ['The Moon', 'moon', null, 'It always shows us the same side and moves away from us by about four centimetres a year. It draws the tides behind it.'],
  ['Io', 'moon', 1610, 'The most volcanic place in the solar system: Jupiter kneads it until it melts inside. Its surface is yellow with sulphur.'],
  ['Europa', 'moon', 1610, 'Under a cracked shell of ice this moon of Jupiter hides an ocean with more water than all of ours. Something might live in it.'],
  ['Ganymede', 'moon', 1610, 'The largest moon of all, larger than Mercury, and the only one with a magnetic field of its own.'],
  ['Titan', 'moon', 1655, 'A moon of Saturn with thick orange air, where it rains methane into lakes and rivers. A small probe landed there by parachute.'],
  ['Enceladus', 'moon', 1789, 'Fountains of water vapour shoot from cracks at its south pole and feed one of Saturn’s rings.'],
  ['Halley’s comet', 'comet', 1705, 'Edmond Halley saw that three old comets were one and foretold its return. It comes back every seventy-six years.'],
  ['The Sun', 'star', null, 'An ordinary star, eight light minutes away. In its core hydrogen becomes helium, as it has for five billion years and will for as many again.'],
  ['Proxima Centauri', 'star', 1915, 'The nearest star after the Sun, more than four light years away, is a red dwarf too faint to be seen without a telescope.'],
  ['Betelgeuse', 'star', null, 'A red giant in the shoulder of Orion. It has swollen so much that it would swallow Mars, and it will explode before long, as stars reckon time.'],
  ['The Crab Nebula', 'nebula', 1054, 'Chinese astronomers saw a star that shone by day for three weeks. What is left of that explosion is a glowing cloud with a pulsar in it.'],
  ['Andromeda galaxy', 'galaxy', null, 'The farthest thing that can be seen with the naked eye. It comes towards us and will merge with the Milky Way in some four billion years.'],
  ['The Milky Way', 'galaxy', null, 'Our own galaxy, seen from within as a pale band across the sky: hundreds of billions of stars around a black hole.'],
  ['Black holes', 'phenomenon', 1916, 'Where matter is pressed together so far that not even light gets away. In 2019 radio telescopes all over the world took the first picture of one’s shadow.'],
  ['Sputnik 1', 'mission', 1957, 'The first satellite was a ball with four aerials that did nothing but beep. Radio amateurs all over the world listened to it for three weeks.'],
  ['Apollo 11', 'mission', 1969, 'Two people walked on the Moon while a third circled above them. Their computer had less memory than a greeting card that plays a tune.'],
  ['Voyager 1', 'mission', 1977, 'It passed Jupiter and Saturn and left the solar system. On board is a golden record with greetings, music and the song of a whale.'],
  ['Hubble Space Telescope', 'mission', 1990, 'Its mirror was ground wrongly by a fiftieth of a hair, and astronauts fitted it with glasses. Then it showed how fast the universe grows.'],
  ['International Space Station', 'mission', 1998, 'People have lived in it without a break since the year 2000. It circles the Earth every ninety minutes, with sixteen sunrises a day.'],
  ['James Webb Space Telescope', 'mission', 2021, 'A gold-coated mirror behind a sunshield as large as a tennis court. It sees heat, and so the first galaxies and the air of distant planets.'],
];

export const space: DemoText[] = SPACE.map(([title, group, year, text]) => ({ topic: 'space', title, facts: { group, ...(year === null ? {} : { year }) }, text }));
