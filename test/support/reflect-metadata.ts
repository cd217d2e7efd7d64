// Stands in for the reflect-metadata package, which @peculiar/x509 wants loaded before itself and does not depend on.
// Imported by certificates.ts only. None of the library's classes declares metadata, so looking it up finds nothing.

if (!('getMetadata' in Reflect)) {
  const nothing = (): undefined => undefined
  Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing })
}
