/** Words of files as choices of the model: a hotel is hospitality, a triple net lease is nnn. */
import { similarity, wordsOf } from './words.ts'

/** What words of files mean among the choices of a field; the word of the choice itself always does. */
const CHOICES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  property_type: {
    office: ['bank', 'financial office', 'courthouse'],
    industrial: [
      'warehouse',
      'distribution',
      'distribution center',
      'manufacturing',
      'flex',
      'logistics',
      'refrigerated warehouse',
    ],
    retail: [
      'store',
      'supermarket',
      'grocery store',
      'restaurant',
      'mall',
      'shopping center',
      'strip mall',
      'automobile dealership',
      'retail store',
    ],
    multifamily: [
      'apartment',
      'residential',
      'multifamily housing',
      'low rise multifamily',
      'mid rise multifamily',
      'high rise multifamily',
      'housing',
    ],
    mixed_use: ['mixed use property', 'mixed'],
    medical_office: ['medical', 'clinic', 'outpatient'],
    life_science: ['laboratory', 'lab', 'research'],
    hospitality: ['hotel', 'motel', 'resort', 'hostel'],
    self_storage: ['self storage facility', 'storage'],
    student_housing: ['residence hall', 'dormitory', 'residence hall dormitory'],
    senior_housing: ['senior care community', 'assisted living', 'nursing home', 'senior living'],
    special_purpose: [
      'hospital',
      'school',
      'university',
      'college',
      'worship facility',
      'library',
      'museum',
      'police station',
      'fire station',
    ],
    parking: ['garage', 'parking lot'],
    land: ['vacant land', 'ground'],
  },
  lease_status: {
    active: ['current', 'occupied', 'a', 'c', 'in force', 'commenced', 'leased'],
    expired: ['past', 'former', 'e', 'p', 'ended'],
    executed: ['future', 'f', 'signed', 'pending'],
    holdover: ['month to month', 'h', 'hold over'],
    terminated: ['t', 'cancelled', 'evicted'],
  },
  recovery_type: {
    nnn: ['triple net', 'net', 'net net net'],
    nn: ['double net'],
    n: ['single net'],
    gross: ['full gross'],
    full_service: ['full service gross', 'fsg', 'fs'],
    modified_gross: ['mg', 'mod gross'],
    base_year: ['by'],
  },
}

/** From here on two words mean the same choice. */
const ALIKE = 0.7

/** Fields that share their choices with another one. */
const SAME_AS: Readonly<Record<string, string>> = {
  primary_use: 'property_type',
  secondary_uses: 'property_type',
  'lease.status': 'lease_status',
}

/** What a word of a file means among the choices of a field; null when it is none of them. */
export function choiceOf(
  type: string,
  path: string,
  choices: readonly string[],
  word: string,
): string | null {
  const words = wordsOf(word)
  const table = SAME_AS[`${type}.${path}`] ?? SAME_AS[path] ?? path
  const meanings = CHOICES[table] ?? {}
  let best: [string | null, number] = [null, ALIKE]
  for (const choice of choices) {
    const own = Object.hasOwn(meanings, choice) ? (meanings[choice] ?? []) : []
    for (const name of [choice.replaceAll('_', ' '), ...own]) {
      const alike = name === word.toLowerCase() ? 2 : similarity(words, wordsKept(name))
      if (alike >= best[1] && (alike > best[1] || best[0] === null)) best = [choice, alike]
    }
  }
  return best[0]
}

const kept = new Map<string, string[]>()

/** The same few names are compared with every word of a file. */
function wordsKept(name: string): string[] {
  const words = kept.get(name) ?? wordsOf(name)
  kept.set(name, words)
  return words
}
