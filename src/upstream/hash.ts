// 32-bit hashes for spreading: fast, not secret. Who chooses the keys can choose the endpoint, which is what a hash is for.

/** The hash of a text (FNV-1a over its UTF-16 units, mixed), from 0 up to 2^32 - 1. */
export function hashOfText(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return mixed(hash)
}

/** Every bit of the outcome depends on every bit of `hash` (the finalizer of MurmurHash3). */
export function mixed(hash: number): number {
  let bits = hash
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
