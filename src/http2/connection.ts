export class Http2Connection {
  constructor(_: unknown) {}
  requests = 0
  drain(): void {}
  destroy(): void {}
}
