// Says in the log when an endpoint is used no more, and when it is again. Used by the server.
import type { Log } from '../telemetry/log.js'
import type { EndpointObserver } from '../upstream/endpoint.js'

/** Tells of changes of health; not of each observation. */
export function endpointLog(log: () => Log): EndpointObserver {
  return {
    onDown: ({ label }, { by, detail }) => {
      log().warn('endpoint_down', `${label} gets no more requests`, { endpoint: label, by, detail })
    },
    onUp: ({ label }, { by, detail }) => {
      log().info('endpoint_up', `${label} gets requests again`, { endpoint: label, by, detail })
    },
  }
}
