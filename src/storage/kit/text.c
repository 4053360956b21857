/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/text.h"

#include <string.h>

void adv_kit_put_text(uint8_t *out, size_t size, const char *text)
{
	size_t len = strnlen(text, size);

	memcpy(out, text, len);
	memset(out + len, ' ', size - len);
}

void adv_kit_get_text(char *out, const uint8_t *in, size_t size)
{
	size_t len = strnlen((const char *)in, size);

	while (len > 0 && in[len - 1] == ' ')
		len--;
	memset(out, 0, size + 1);
	memcpy(out, in, len);
}

void adv_kit_copy_printable(char *out, const char *in, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && in[i]; i++)
		out[i] = in[i] >= ' ' && in[i] <= '~' ? in[i] : '?';
	out[i] = 0;
}
