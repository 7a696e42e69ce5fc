/** Identifiers that tell what a record is, whatever it is called: by type, how they are compared, and what they decide. */

export interface Identifier {
  /** Field of the type that holds it; it is compared without punctuation, in capitals. */
  field: string
  /** Field that both must share for the identifier to mean the same: lease numbers are those of a property. */
  within: string | null
  /** Whether it decides alone. Others put the pair into the review queue. */
  decides: boolean
}

const alone = { within: null, decides: true }

/** Identifiers by type. Order matters: what others refer to comes first, so that it is one before they are compared. */
export const IDENTIFIERS: Readonly<Record<string, readonly Identifier[]>> = {
  party: [
    { field: 'lei', ...alone },
    { field: 'registration_number', ...alone },
  ],
  property: [{ field: 'code', ...alone }],
  building: [{ field: 'code', within: 'property_id', decides: true }],
  space: [{ field: 'suite', within: 'building_id', decides: false }],
  lease: [{ field: 'lease_number', within: 'property_id', decides: true }],
}

/** Shorter ones are too common to mean anything. */
export const SHORTEST = 2

/** Types of which matching knows how to tell that two are one. */
export const MATCHED_TYPES: readonly string[] = Object.keys(IDENTIFIERS)
