/** Invented names of people, companies and streets. The company names are coined words, so that none is a real tenant. */
import type { Random } from './random.ts'

export const INDUSTRIES = {
  legal: { code: '541110', label: 'Offices of Lawyers' },
  technology: { code: '541511', label: 'Custom Computer Programming Services' },
  finance: { code: '523940', label: 'Portfolio Management and Investment Advice' },
  insurance: { code: '524126', label: 'Direct Property and Casualty Insurance Carriers' },
  professional: { code: '541611', label: 'Management Consulting Services' },
  engineering: { code: '541330', label: 'Engineering Services' },
  logistics: { code: '493110', label: 'General Warehousing and Storage' },
  manufacturing: { code: '333998', label: 'Miscellaneous General Purpose Machinery Manufacturing' },
  grocery: { code: '445110', label: 'Supermarkets and Other Grocery Retailers' },
  retail: { code: '459999', label: 'All Other Miscellaneous Retailers' },
  food: { code: '722511', label: 'Full-Service Restaurants' },
  health: { code: '621111', label: 'Offices of Physicians' },
  life_science: { code: '541714', label: 'Research and Development in Biotechnology' },
  government: { code: '921190', label: 'Other General Government Support' },
  education: { code: '611430', label: 'Professional and Management Development Training' },
} as const

export type Industry = keyof typeof INDUSTRIES

const FIRST_NAMES = (
  'Ada Ahmed Aisha Alan Amara Andre Anika Arjun Beatriz Bianca Brendan Camille Carlos Chloe Dana Daniel Dmitri Elena ' +
  'Elias Emeka Esther Farah Felix Fiona Gabriel Grace Hana Hector Imani Ines Ivan Jasmine Jonas Joseph Julia Kai Kenji ' +
  'Lara Leila Leon Luis Maya Mei Miguel Mira Nadia Nathan Noor Oliver Omar Paula Petra Quinn Rafael Renata Rosa Ruth ' +
  'Samir Sarah Silvia Simon Sofia Tariq Teresa Thomas Uma Victor Walter Xavier Yara Yusuf Zoe'
).split(' ')

const LAST_NAMES = (
  'Abara Adeyemi Aldous Amsel Arkwood Balint Barrowe Bellisar Brannock Calder Castellane Corrigan Dacosta Delacroix ' +
  'Dunmore Eklund Esparza Fairweather Farrow Fenwick Galloway Garrick Halloran Harrow Hayashi Holloway Ibarra Ingram ' +
  'Iwasaki Jarrow Kestrel Kimura Kovalenko Lachlan Lindqvist Lockridge Madigan Marchetti Mbeki Merriweather Nakagawa ' +
  'Norwood Okafor Oakhurst Ortega Pellegrin Pemberly Quillon Ramirez Ravenel Redfern Rosengarten Sandoval Seabrook ' +
  'Stanhope Sorensen Tanaka Thackeray Thornbury Tremaine Underhill Vasquez Voss Wainwright Wexford Winslow Yarrow Zeller'
).split(' ')

/** Words that carry a company's name; each is used about once. */
const COINED = (
  'Abelo Acrivon Aldermere Altavane Amberlin Anvoro Arbelis Ardentia Arkelle Astrivo Aurelgate Avenlo Axiomere Balthera ' +
  'Barrowind Benvara Birchmont Bluehaven Brackwater Brindlow Calyptra Candorel Caraveli Cassowell ' +
  'Cedarline Celestra Ciderhouse Clarivane Cobaltine Copperfin Corvanta Cresthollow Cypherine Dalbrook Dantero Deltavane ' +
  'Dovetree Draycott Drumlin Eastmarrow Ebonvale Elandra Elmsworth Emberton Enverra Evenmere Everstead Falconbridge ' +
  'Farrowgate Fennimore Ferrowick Fieldmark Firthmoor Flintlock Fornax Foxgrove Galderon Garnetta Gavellan ' +
  'Glasswing Glenharrow Granford Greyhollow Halcyra Hallowell Harborlight Hartsmoor Havenlock Hazelmere ' +
  'Helixar Heronsgate Highmarch Hollinwood Icarion Inverlea Ironquay Ivorine Jasperton Junivale Kelvane Kestrion ' +
  'Kingsmarrow Kitewood Lakemoor Lanternfall Larkmead Laurelton Lindenmar Lockhaven Lumora Lynxford Magnoria Maplewick ' +
  'Marrowbone Meridale Millbrae Mirrowell Monterrin Mossgate Narrowell Nimbrel Northquay Novalune Oakenfold ' +
  'Obelion Octavane Onyxford Orchardon Osprel Palisander Pebblecourt Pelagia Penhallow Perivale Pinecroft ' +
  'Plumeria Portolan Quarrywood Quilltree Quintara Redmarsh Ridgeline Rivermark Rookwood Rowanlea ' +
  'Saffronel Sagebrook Saltmarsh Sequora Silverfen Solvane Sparrowhawk Spindle ' +
  'Summerlin Swiftwater Tamarell Tansywood Tarnwell Tealight Tessellate Thistledown ' +
  'Vallorin Velloway Verdance Vesperine Westering ' +
  'Wharfside Whitmoor Wildmere Willowrun Windrush Wintergreen Wrenfield Yellowwood Zephyrine'
).split(' ')

/** How companies of an industry call themselves. */
const FORMS: Record<Industry, readonly string[]> = {
  legal: ['{L} & {L} LLP', '{L} {L} LLP', '{L}, {L} & {L} LLP', '{L} Law Group PC'],
  technology: ['{C} Systems Inc.', '{C} Software Inc.', '{C} Labs Inc.', '{C} Data Corp.'],
  finance: ['{C} Capital Management LP', '{C} Advisors LLC', '{C} Bank NA', '{C} Partners LP'],
  insurance: ['{C} Mutual Insurance Company', '{C} Assurance Corp.', '{C} Casualty Company'],
  professional: ['{C} Consulting LLC', '{L} {L} Associates LLC', '{C} Strategy Group Inc.'],
  engineering: ['{L} {L} Engineers PC', '{C} Design Group Inc.', '{C} Engineering Inc.'],
  logistics: ['{C} Logistics LLC', '{C} Freight Inc.', '{C} Distribution Corp.', '{C} Supply Inc.'],
  manufacturing: ['{C} Industries Inc.', '{C} Components Corp.', '{C} Manufacturing Co.'],
  grocery: ['{C} Market Inc.', '{C} Fresh Foods Inc.', '{C} Grocers LLC'],
  retail: [
    '{C} Outfitters Inc.',
    '{C} Home LLC',
    '{C} Apparel Inc.',
    '{C} Pet Supply LLC',
    '{C} Books Inc.',
  ],
  food: ['{C} Kitchen LLC', '{C} Coffee Company LLC', 'Cafe {C} LLC', '{C} Tavern LLC'],
  health: ['{C} Medical Group PC', '{C} Dental Care PC', '{C} Orthopedics PC', '{C} Imaging LLC'],
  life_science: ['{C} Therapeutics Inc.', '{C} Biosciences Inc.', '{C} Genomics Inc.'],
  government: [
    '{C} County Services Agency',
    'Office of the {C} Commissioner',
    '{C} Water Authority',
  ],
  education: ['{C} College', '{C} Academy Inc.', '{C} Learning Institute'],
}

/** Legal forms and other words left off the name people use. */
const FORM_WORDS = / (Inc\.|LLC|LLP|LP|Corp\.|Co\.|PC|NA|GmbH|Company LLC)$/

/** Gives names that are not repeated within one portfolio. */
export class Names {
  private readonly random: Random
  private readonly taken = new Set<string>()
  private words: string[] = []

  constructor(random: Random) {
    this.random = random
  }

  /** The legal name of a company. */
  company(industry: Industry, abroad = false): string {
    for (;;) {
      const form = this.random.pick(FORMS[industry])
      const name = form
        .replaceAll('{L}', () => this.random.pick(LAST_NAMES))
        .replaceAll('{C}', () => this.word())
      const legal = abroad ? `${displayName(name)} GmbH` : name
      // A firm does not bear one partner's name twice.
      const isDoubled = /\b(\w{3,})\b.*\b\1\b/.test(legal)
      if (isDoubled || this.taken.has(legal)) continue
      this.taken.add(legal)
      return legal
    }
  }

  private word(): string {
    const word = this.words.pop()
    if (word) return word
    // A second round through the list pairs words, so that names stay apart.
    const again = this.taken.size > COINED.length
    this.words = this.random
      .shuffled(COINED)
      .map((first) => (again ? `${first} ${this.random.pick(LAST_NAMES)}` : first))
    return this.word()
  }

  person(): { first_name: string; last_name: string } {
    return { first_name: this.random.pick(FIRST_NAMES), last_name: this.random.pick(LAST_NAMES) }
  }
}

/** The name people use: without the legal form. */
export function displayName(legal_name: string): string {
  return legal_name.replace(FORM_WORDS, '').replace(/,$/, '')
}

/** A host name under the reserved domain `.example`, which never resolves. */
export function hostOf(legal_name: string): string {
  const plain = displayName(legal_name)
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, '')
  return `${plain}.example`
}

/** Numbers 555-0100 to 555-0199 are kept free for fiction. */
export function phoneOf(random: Random): string {
  const area = random.pick(['212', '312', '617', '206', '512', '704', '602', '214', '303', '615'])
  return `+1 ${area} 555 01${String(random.int(0, 99)).padStart(2, '0')}`
}

export const STREETS = (
  'Harbor Street,Lakefront Drive,Foundry Street,Union Avenue,Mill Road,Orchard Road,Commerce Way,Gateway Boulevard,' +
  'Linden Street,Prairie Avenue,Cedar Lane,Exchange Place,Market Street,Depot Road,Canal Street,Summit Avenue,' +
  'Innovation Drive,Riverbend Road,Sycamore Avenue,Logistics Parkway'
).split(',')

/** First and second words of invented property names, for portfolios larger than the table of sites. */
export const SITE_WORDS = {
  first: (
    'Alder Amber Beacon Birch Blackwell Brookside Canyon Clearwater Cliff Coral Elm Fairview Falcon Fern Glen Granite ' +
    'Hawthorn Heron Hillcrest Ivy Juniper Kingsway Laurel Magnolia Marigold Mesa Monarch Oakmont Osage Palmetto Poplar ' +
    'Quarry Redwood Ridgeway Rosewood Sable Silverlake Spruce Stonegate Sumac Thornhill Vista Walnut Wessex Willow Windmill'
  ).split(' '),
  second: {
    cbd_office: ['Tower', 'Plaza', 'Center', 'Exchange'],
    suburban_office: ['Office Park', 'Corporate Center', 'Commons', 'Pavilion'],
    industrial: ['Logistics Park', 'Distribution Center', 'Trade Center', 'Commerce Park'],
    retail: ['Marketplace', 'Square', 'Crossing', 'Shops'],
    medical: ['Medical Pavilion', 'Health Center', 'Life Science Center', 'Clinic Row'],
    mixed: ['Yards', 'Landing', 'Works', 'Quarter'],
  },
} as const
