/** Addresses and networks in CIDR form, of both families. */
import { BlockList, isIP } from 'node:net'

const FAMILY = { 4: 'ipv4', 6: 'ipv6' } as const

interface Network {
  address: string
  family: 4 | 6
  bits: number
}

/** True for `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`. */
export function isNetwork(text: string): boolean {
  return parse(text) !== null
}

function parse(text: string): Network | null {
  const match = /^([0-9a-fA-F:.]+)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text)
  const address = match?.[1] ?? ''
  const family = isIP(address)
  if (family !== 4 && family !== 6) return null
  const most = family === 4 ? 32 : 128
  const bits = match?.[2] === undefined ? most : Number(match[2])
  return bits <= most ? { address, family, bits } : null
}

/** The networks as one list to look addresses up in. */
export function networksOf(texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const network = parse(text)
    if (network) list.addSubnet(network.address, network.bits, FAMILY[network.family])
  }
  return list
}

export function contains(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return (family === 4 || family === 6) && list.check(address, FAMILY[family])
}

/** Whether every address of the network is in one of the others. */
export function isWithin(text: string, others: readonly string[]): boolean {
  const network = parse(text)
  return others.some((other) => {
    const outer = parse(other)
    if (!network || !outer || outer.family !== network.family) return false
    return outer.bits <= network.bits && contains(networksOf([other]), network.address)
  })
}

/** `::ffff:203.0.113.7` -> `203.0.113.7`, `fe80::1%eth0` -> `fe80::1`. */
export function plainAddress(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7)
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}

/** What one subscriber has at least: an IPv4 address, or the first half of an IPv6 address. */
export function subscriberOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail ? tail.split(':') : []
  const zeros =
    tail === undefined ? [] : Array(Math.max(0, 8 - left.length - right.length)).fill('0')
  const parts = [...left, ...(zeros as string[]), ...right].slice(0, 4)
  return `${parts.map((part) => part.replace(/^0+(?=.)/, '')).join(':')}::/64`
}
