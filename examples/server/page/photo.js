/** Photos that the user chose, small enough to be sent: a telephone makes them larger than the server accepts. */
import { attachmentOf } from './client.js'

const longestSide = 1280

/**
 * @param {FileList | null} files
 * @throws if the browser cannot read a file as a picture
 */
export function photosOf(files) {
  return Promise.all(Array.from(files ?? [], async (file) => attachmentOf(await smaller(file))))
}

/** @param {File} file */
async function smaller(file) {
  const picture = await createImageBitmap(file)
  const scale = Math.min(1, longestSide / Math.max(picture.width, picture.height))
  const canvas = new OffscreenCanvas(Math.ceil(picture.width * scale), Math.ceil(picture.height * scale))
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
  return canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 })
}
