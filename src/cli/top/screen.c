/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/top/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void adv_screen_clear(struct adv_screen *s, unsigned rows, unsigned columns)
{
	s->rows = rows < ADV_SCREEN_ROWS ? rows : ADV_SCREEN_ROWS;
	s->columns = columns < ADV_SCREEN_COLUMNS ? columns : ADV_SCREEN_COLUMNS;
	memset(s->attribute, ADV_PLAIN, sizeof(s->attribute));
	for (unsigned i = 0; i < s->rows; i++) {
		memset(s->text[i], ' ', s->columns);
		s->text[i][s->columns] = 0;
	}
}

unsigned adv_screen_print(struct adv_screen *s, unsigned row, unsigned column, enum adv_attribute a,
			  const char *format, ...)
{
	char text[ADV_SCREEN_COLUMNS + 1];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (const char *c = text; *c; c++, column++) {
		if (row >= s->rows || column >= s->columns)
			continue;
		s->text[row][column] = *c >= ' ' && *c <= '~' ? *c : '?';
		s->attribute[row][column] = (uint8_t)a;
	}
	return column;
}

void adv_screen_mark(struct adv_screen *s, unsigned row, enum adv_attribute a)
{
	if (row < s->rows)
		memset(s->attribute[row], a, s->columns);
}
