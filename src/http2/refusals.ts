// Tells the service what the codec refused, so that the log has a line for it. Used by connection and inbox.
import type { Connection } from '../wire/connection.js'
import type { RequestService } from '../wire/downstream.js'
import type { Failure } from '../wire/failure.js'

/** Who refused it, and who hears of it. */
interface Place {
  readonly connection: Connection
  readonly service: RequestService
}

/** What could be read of a request. */
interface PartialRequest {
  readonly method?: string | undefined
  readonly target?: string | undefined
  readonly authority?: string | undefined
}

/** Reports a refusal; `status` is what was answered, null where nothing was. */
export function report(place: Place, failure: Failure, status: number | null, request: PartialRequest): void {
  place.service.refused({
    connection: place.connection,
    protocol: 'h2',
    status,
    failure,
    method: request.method ?? null,
    target: request.target ?? null,
    host: request.authority ?? null,
  })
}
