// What the benchmark prints: one table for each wire and payload.
import type { Sample } from './measure.js'

/** The samples of one server, by its name. */
export type Results = ReadonlyMap<string, readonly Sample[]>

/** Medians with their range, and the ratio to the server named `reference` where it was measured. */
export function tableOf(results: Results, reference: string): string {
  const referenceCpu = results.has(reference) ? medianCpu(results.get(reference) ?? []) : undefined
  const rows = [...results].map(([name, samples]) => {
    const cpu = medianCpu(samples)
    const range = samples.map(cpuOf).sort(ascending)
    return [
      name,
      cpu.toFixed(1),
      `${range[0].toFixed(1)}–${range[range.length - 1].toFixed(1)}`,
      referenceCpu === undefined ? '–' : (cpu / referenceCpu).toFixed(2),
      median(samples.map((sample) => sample.requestsPerSecond)).toFixed(0),
    ]
  })
  return align([['', 'µs CPU/request', 'min–max', `× ${reference}`, 'requests/s'], ...rows])
}

function align(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('  ')
  return rows.map(line).join('\n')
}

function cpuOf(sample: Sample): number {
  return sample.microsecondsPerRequest
}

function medianCpu(samples: readonly Sample[]): number {
  return median(samples.map(cpuOf))
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort(ascending)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

function ascending(first: number, second: number): number {
  return first - second
}
