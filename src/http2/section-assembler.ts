// Puts together a field section that may be spread over HEADERS and CONTINUATION frames (RFC 9113 §4.3, §6.10).
// One that fits a frame is not copied. Bounded in bytes and in frames.

const emptyBytes = Buffer.alloc(0)

/** What was opened and not yet ended by END_HEADERS. */
export class SectionAssembler {
  /** The stream whose section is open, 0 where none is: no other frame may come in between. */
  streamId = 0
  /** The flags of the HEADERS frame that opened it. */
  flags = 0
  /** Its stream depends on itself, which is a stream error once the section is read. */
  dependsOnItself = false
  bytes: Buffer = emptyBytes
  length = 0
  frameCount = 0

  open(streamId: number, flags: number, dependsOnItself: boolean): void {
    this.streamId = streamId
    this.flags = flags
    this.dependsOnItself = dependsOnItself
    this.length = 0
    this.frameCount = 0
  }

  append(bytes: Buffer, start: number, end: number): void {
    const needed = this.length + end - start
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafe(needed * 2)
      this.bytes.copy(grown, 0, 0, this.length)
      this.bytes = grown
    }
    bytes.copy(this.bytes, this.length, start, end)
    this.length = needed
    this.frameCount++
  }

  /** The section is read; its memory is given back. */
  close(): void {
    this.streamId = 0
    this.length = 0
    this.bytes = emptyBytes
  }
}
