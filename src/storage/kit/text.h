/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ASCII strings of NVMe structures: padded with spaces to the size of their field. */
#ifndef ADV_STORAGE_KIT_TEXT_H
#define ADV_STORAGE_KIT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Writes text to a field of `size` bytes. A longer text is cut off. */
void adv_kit_put_text(uint8_t *out, size_t size, const char *text);

/* Reads a field of `size` bytes, without the spaces at its end, to out: size + 1 bytes, the rest of
 * which become 0. */
void adv_kit_get_text(char *out, const uint8_t *in, size_t size);

/* Copies a text of `size` bytes at most with its end. '?' replaces what is not printable ASCII. */
void adv_kit_copy_printable(char *out, const char *in, size_t size);

#endif
