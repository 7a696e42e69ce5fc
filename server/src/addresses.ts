/** Which network addresses the product may speak to. */
import { BlockList, isIP, isIPv4 } from 'node:net'

/** Private, shared, loopback, link-local, documentation, benchmark, multicast and reserved ranges (RFC 6890 and later). */
const DENIED_V4 = subnets('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/** IPv6 is denied unless it is global unicast; NAT64, unique local and link-local lie outside of this. */
const GLOBAL_V6 = subnets('ipv6', ['2000::/3'])
/** Teredo and its neighbours, documentation, 6to4. */
const DENIED_V6 = subnets('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
const MAPPED_V4 = subnets('ipv6', ['::ffff:0:0/96'])

/** Where clouds hand out credentials of the machine: never spoken to, not even for an operator's own endpoint. */
const METADATA = new BlockList()
METADATA.addAddress('169.254.169.254', 'ipv4')
METADATA.addAddress('fd00:ec2::254', 'ipv6')

function subnets(family: 'ipv4' | 'ipv6', list: readonly string[]): BlockList {
  const block = new BlockList()
  for (const subnet of list) {
    const [address = '', bits] = subnet.split('/')
    block.addSubnet(address, Number(bits), family)
  }
  return block
}

/** True for an address of the public internet. `address` is an IP literal; anything else is not public. */
export function isPublicAddress(address: string): boolean {
  const plain = withoutZone(address)
  if (isIPv4(plain)) return !DENIED_V4.check(plain)
  if (isIP(plain) !== 6) return false
  // Rules for IPv4 also match the addresses that IPv6 maps them to.
  if (MAPPED_V4.check(plain, 'ipv6')) return !DENIED_V4.check(plain, 'ipv6')
  return GLOBAL_V6.check(plain, 'ipv6') && !DENIED_V6.check(plain, 'ipv6')
}

/** True for an address an operator may configure: any but those of a cloud's metadata service. */
export function isOperatorAddress(address: string): boolean {
  const plain = withoutZone(address)
  const family = isIP(plain)
  return family !== 0 && !METADATA.check(plain, family === 4 ? 'ipv4' : 'ipv6')
}

/** An address test that lets public addresses through and those of the networks, but never those of a metadata service. */
export function allowing(networks: readonly string[]): (address: string) => boolean {
  const lists = { 4: new BlockList(), 6: new BlockList() }
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) as 4 | 6
    lists[family].addSubnet(address, Number(bits), `ipv${family}`)
  }
  return (address) => {
    if (isPublicAddress(address)) return true
    const plain = withoutZone(address)
    const family = isIP(plain)
    if (family === 0 || !isOperatorAddress(plain)) return false
    // Rules for IPv4 also match the addresses that IPv6 maps them to.
    return family === 4
      ? lists[4].check(plain, 'ipv4')
      : lists[6].check(plain, 'ipv6') ||
          (MAPPED_V4.check(plain, 'ipv6') && lists[4].check(plain, 'ipv6'))
  }
}

/** `fe80::1%eth0` -> `fe80::1`. */
function withoutZone(address: string): string {
  return address.split('%')[0] as string
}
