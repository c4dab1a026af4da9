import type { DemoText } from '../demo-text';

/** [title, kind, continent, text]. CC0, see LICENSE.md. */
const NATURE: [string, string, string, string][] = [
  ['Amazon', 'river', 'South America', 'It carries more water than the next seven rivers together. Pink dolphins swim in it, and its mouth is so wide that one shore can’t be seen from the other.'],
  ['Nile', 'river', 'Africa', 'For thousands of years its yearly flood brought mud to the fields of Egypt. It flows north through the desert for six and a half thousand kilometres.'],
  ['Danube', 'river', 'Europe', 'From the Black Forest to the Black Sea through ten countries and four capitals.'],
  ['Mississippi', 'river', 'North America', 'A brown, winding giant that changes its bed. Paddle steamers carried cotton on it, and the blues grew up on its banks.'],
  ['Ganges', 'river', 'Asia', 'Holy to Hindus, who bathe in it at dawn. It falls from Himalayan ice and feeds hundreds of millions of people.'],
  ['Yangtze', 'river', 'Asia', 'The longest river of Asia runs through deep gorges, where the largest dam of all now holds it back.'],
  ['Mount Everest', 'mountain', 'Asia', 'The highest point above the sea grows by some millimetres a year. Edmund Hillary and Tenzing Norgay stood on it first.'],
  ['Kilimanjaro', 'mountain', 'Africa', 'A volcano near the equator with ice on its top. Who climbs it walks through rainforest, heath, desert and snow within days.'],
  ['Matterhorn', 'mountain', 'Europe', 'A pyramid of rock between Switzerland and Italy, pushed up when Africa ran into Europe.'],
  ['Mount Fuji', 'volcano', 'Asia', 'An almost perfect cone that painters have drawn from every side. It last erupted three hundred years ago.'],
  ['Vesuvius', 'volcano', 'Europe', 'In the year 79 it buried Pompeii under ash within a day, with bread in the ovens and dogs at the door.'],
  ['Yellowstone', 'volcano', 'North America', 'Geysers and coloured hot springs above a vast chamber of molten rock. It was the first national park.'],
  ['Sahara', 'desert', 'Africa', 'As large as a continent, and more stone than sand. Ten thousand years ago hippos bathed in its lakes; people painted them on the rocks.'],
  ['Atacama', 'desert', 'South America', 'Some of its weather stations have never recorded rain. After a rare shower, flowers cover the ground.'],
  ['Gobi', 'desert', 'Asia', 'A cold desert of gravel and grass where dinosaur eggs were found. Camels carried silk through it.'],
  ['Great Barrier Reef', 'reef', 'Australia', 'Corals, each no larger than a match head, have built two thousand kilometres of reef. When the sea becomes too warm, they turn white.'],
  ['Lake Baikal', 'lake', 'Asia', 'The deepest and oldest lake holds a fifth of all fresh water that is not frozen, and a seal that lives far from any sea.'],
  ['Dead Sea', 'lake', 'Asia', 'The lowest shore on Earth. Its water is so salty that nobody can sink in it, and little can live.'],
  ['Victoria Falls', 'waterfall', 'Africa', 'The smoke that thunders, its neighbours call it: the Zambezi drops into a gorge over its whole width, and spray rises higher than the falls.'],
  ['Grand Canyon', 'canyon', 'North America', 'The Colorado river has sawn through almost two billion years of rock. Each band of colour is an ancient sea, dune or swamp.'],
  ['Antarctica', 'ice', 'Antarctica', 'The coldest, windiest and driest continent. Ice kilometres thick holds most of the world’s fresh water and bubbles of ancient air.'],
  ['Northern lights', 'sky', 'Arctic', 'Particles from the Sun make the air glow green and red where the Earth’s magnetic field leads them down.'],
  ['Lightning', 'sky', 'worldwide', 'Ice and hail rub against each other in a cloud until a spark jumps. It heats the air to five times the heat of the Sun’s surface; thunder is the air’s answer.'],
  ['Tides', 'sea', 'worldwide', 'The Moon pulls the water nearest to it and leaves behind that on the far side, so that the sea rises twice a day.'],
  ['Giant sequoia', 'tree', 'North America', 'The heaviest of all trees lives for three thousand years. Its thick bark stands fire, and its cones need the heat to open.'],
  ['Baobab', 'tree', 'Africa', 'It stores water in its swollen trunk and looks as if it grew with its roots in the air. People have used hollow ones as shops and prisons.'],
];

export const nature: DemoText[] = NATURE.map(([title, group, region, text]) => ({ topic: 'nature', title, facts: { group, region }, text }));
