/** The server sends the file of `turnkeeper/client` under this name. */
export * from 'turnkeeper/client'
