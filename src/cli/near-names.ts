// Why a name misses the hosts that people would expect to catch it, and what they may have meant. Pure; used by why.
import { didYouMean } from '../config/did-you-mean.js'

const hintsMax = 3

/** Sentences about `name`, which none of `patterns` matches; the surest first. */
export function nearMisses(name: string, patterns: readonly string[]): readonly string[] {
  const related = patterns.map((pattern) => relation(name, pattern)).filter((sentence) => sentence !== undefined)
  if (related.length > 0) return related.slice(0, hintsMax)
  const similar = patterns
    .map((pattern) => wouldMatch(name, pattern))
    .filter((candidate) => candidate !== undefined)
    .filter((candidate) => isSimilar(name, candidate))
  const hint = didYouMean(name, similar)
  return hint === undefined ? [] : [hint]
}

function relation(name: string, pattern: string): string | undefined {
  if (pattern.startsWith('*.')) {
    const parent = pattern.slice(2)
    if (name === parent) return `"${pattern}" does not stand for ${parent} itself: list it beside the wildcard`
    if (name.endsWith(`.${parent}`)) return `"${pattern}" stands for exactly one label before .${parent}`
    return undefined
  }
  if (isOneLabelBelow(name, pattern)) {
    return `"${pattern}" stands for itself alone: list "${name}" or "*.${pattern}" beside it`
  }
  return isOneLabelBelow(pattern, name) ? `"${pattern}" is served, but not ${name} without its first label` : undefined
}

function isOneLabelBelow(child: string, parent: string): boolean {
  return child.endsWith(`.${parent}`) && !child.slice(0, -parent.length - 1).includes('.')
}

/** The name nearest to `name` that a pattern matches; a wildcard is near only to names of as many labels. */
function wouldMatch(name: string, pattern: string): string | undefined {
  if (!pattern.startsWith('*.')) return pattern
  const [firstLabel, ...parents] = name.split('.')
  return parents.length === pattern.split('.').length - 1 ? `${firstLabel}${pattern.slice(1)}` : undefined
}

// Names of one domain look alike for what they share; only the labels before it tell whether one was meant.
function isSimilar(name: string, candidate: string): boolean {
  const [left, right] = [name.split('.'), candidate.split('.')]
  while (left.length > 1 && right.length > 1 && left.at(-1) === right.at(-1)) {
    left.pop()
    right.pop()
  }
  return didYouMean(left.join('.'), [right.join('.')]) !== undefined
}
