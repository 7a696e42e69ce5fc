/** What work orders are about: categories with their share, how much of it is planned, and what people write. */

export interface Kind {
  category: string
  /** Percent of all work orders. */
  share: number
  /** Part of them that is planned upkeep. */
  planned: number
  /** Requests and repairs: subcategory and title. */
  reports: readonly (readonly [subcategory: string | null, title: string])[]
  upkeep: readonly string[]
  /** Cost of a repair, in dollars: low and high. */
  cost: readonly [low: number, high: number]
  /** How much of it falls in each month, January first; all the same when left out. */
  months?: readonly number[]
}

/** Cooling is asked for from June to September, heating in winter. */
const HVAC_MONTHS = [9, 8, 7, 6, 8, 13, 16, 16, 12, 6, 6, 8] as const
const OUTSIDE_MONTHS = [6, 6, 9, 12, 12, 9, 7, 7, 8, 9, 8, 7] as const

export const KINDS: readonly Kind[] = [
  {
    category: 'hvac',
    share: 31,
    planned: 0.4,
    reports: [
      ['too_hot', 'Too hot'],
      ['too_hot', 'Too hot'],
      ['too_cold', 'Too cold'],
      ['too_cold', 'No heat since this morning'],
      ['noise', 'Air vent rattles'],
      ['odor', 'Odor from the vents'],
    ],
    upkeep: [
      'Change air filters',
      'Inspect air handler',
      'Service rooftop unit',
      'Treat cooling tower water',
    ],
    cost: [90, 1_400],
    months: HVAC_MONTHS,
  },
  {
    category: 'lighting',
    share: 8,
    planned: 0.2,
    reports: [
      [null, 'Lights out'],
      [null, 'Light flickers'],
      ['exit_sign', 'Exit sign is dark'],
    ],
    upkeep: ['Walk for dark lamps'],
    cost: [40, 320],
  },
  {
    category: 'electrical',
    share: 7,
    planned: 0.3,
    reports: [
      ['outlet', 'Outlet has no power'],
      ['breaker', 'Breaker trips again and again'],
      [null, 'Power is out in part of the space'],
    ],
    upkeep: ['Infrared scan of panels', 'Test emergency generator'],
    cost: [85, 950],
  },
  {
    category: 'plumbing',
    share: 14,
    planned: 0.18,
    reports: [
      ['leak', 'Leak under the sink'],
      ['clog', 'Restroom is clogged'],
      ['no_hot_water', 'No hot water'],
      ['leak', 'Water stain on the ceiling'],
      [null, 'Toilet keeps running'],
    ],
    upkeep: ['Flush water heaters', 'Test backflow preventer'],
    cost: [80, 1_100],
  },
  {
    category: 'cleaning',
    share: 10,
    planned: 0.25,
    reports: [
      ['spill', 'Spill in the corridor'],
      ['restroom', 'Restroom needs supplies'],
      [null, 'Trash was not collected'],
      ['carpet', 'Stain on the carpet'],
    ],
    upkeep: ['Wash windows outside', 'Shampoo carpets of common areas'],
    cost: [30, 260],
  },
  {
    category: 'access_security',
    share: 5,
    planned: 0.1,
    reports: [
      ['badge', 'Access badges for new staff'],
      ['badge', 'Badge does not open the door'],
      ['camera', 'Camera shows no picture'],
    ],
    upkeep: ['Review access lists'],
    cost: [25, 400],
  },
  {
    category: 'keys_locks',
    share: 4,
    planned: 0,
    reports: [
      ['lockout', 'Locked out'],
      ['rekey', 'Re-key suite entrance'],
      [null, 'Lock sticks'],
    ],
    upkeep: ['Audit keys'],
    cost: [45, 380],
  },
  {
    category: 'elevator',
    share: 3,
    planned: 0.7,
    reports: [
      ['entrapment', 'Person stuck in elevator'],
      ['stopped', 'Elevator out of service'],
      ['leveling', 'Elevator stops off level'],
    ],
    upkeep: ['Monthly elevator service', 'Inspect elevator with the inspector'],
    cost: [220, 2_600],
  },
  {
    category: 'fire_life_safety',
    share: 4,
    planned: 0.8,
    reports: [
      ['alarm', 'Alarm panel shows a fault'],
      ['extinguisher', 'Extinguisher is missing'],
      ['smoke', 'Smell of smoke'],
    ],
    upkeep: ['Test fire alarm', 'Inspect sprinklers', 'Test fire pump'],
    cost: [150, 1_800],
  },
  {
    category: 'pest',
    share: 2,
    planned: 0.85,
    reports: [
      [null, 'Ants in the kitchen'],
      [null, 'Mouse seen'],
    ],
    upkeep: ['Monthly pest control'],
    cost: [75, 260],
    months: OUTSIDE_MONTHS,
  },
  {
    category: 'parking',
    share: 3,
    planned: 0.2,
    reports: [
      ['gate', 'Parking gate does not open'],
      [null, 'Pothole in the lot'],
      ['lights', 'Parking lights are out'],
    ],
    upkeep: ['Sweep parking areas'],
    cost: [60, 1_200],
  },
  {
    category: 'doors_windows',
    share: 4,
    planned: 0.15,
    reports: [
      [null, 'Entrance door does not close'],
      ['glass', 'Cracked window'],
      [null, 'Door is stuck'],
    ],
    upkeep: ['Adjust door closers'],
    cost: [70, 1_300],
  },
  {
    category: 'roof_leak',
    share: 2,
    planned: 0.45,
    reports: [
      [null, 'Roof leaks'],
      ['drain', 'Water stands on the roof'],
    ],
    upkeep: ['Inspect roof and drains'],
    cost: [300, 3_800],
    months: OUTSIDE_MONTHS,
  },
  {
    category: 'billable_service',
    share: 1.5,
    planned: 0,
    reports: [
      ['hvac_after_hours', 'Air conditioning after hours'],
      ['furniture', 'Hang boards and pictures'],
    ],
    upkeep: ['Read submeters'],
    cost: [120, 900],
  },
  {
    category: 'other',
    share: 1.5,
    planned: 0.5,
    reports: [
      ['sign', 'Name on the directory'],
      [null, 'Move chairs to the conference center'],
    ],
    upkeep: ['Walk the property'],
    cost: [30, 300],
  },
]

/** Shares of the priorities among reports; planned work is normal or low. All in all 6, 18, 56 and 20 percent. */
export const REPORT_PRIORITIES = [
  ['emergency', 7.6],
  ['urgent', 26.5],
  ['normal', 51.7],
  ['low', 14.2],
] as const

export const PLANNED_PRIORITIES = [
  ['normal', 68],
  ['low', 32],
] as const

/** Work of the same kind that is dangerous by its nature. */
export const ALWAYS_URGENT: readonly (string | null)[] = ['entrapment', 'smoke', 'lockout']
