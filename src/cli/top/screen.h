/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text with attributes, in rows and columns: what a terminal shows. */
#ifndef ADV_CLI_TOP_SCREEN_H
#define ADV_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_SCREEN_ROWS	   400 /* most rows and columns */
#define ADV_SCREEN_COLUMNS 400

enum adv_attribute { ADV_PLAIN, ADV_BOLD, ADV_REVERSE, ADV_ALERT };

struct adv_screen {
	unsigned rows, columns;
	char text[ADV_SCREEN_ROWS]
		 [ADV_SCREEN_COLUMNS + 1]; /* printable ASCII; each row ends with 0 */
	uint8_t attribute[ADV_SCREEN_ROWS][ADV_SCREEN_COLUMNS]; /* enum adv_attribute */
};

/* Clears the screen: blanks, without attributes. Sizes beyond the most are reduced. */
void adv_screen_clear(struct adv_screen *s, unsigned rows, unsigned columns);
/* Prints text from a position on, cut off at the right edge. '?' replaces characters that are not
 * printable ASCII. Rows and columns outside the screen are ignored. Returns the column behind the
 * text. */
unsigned adv_screen_print(struct adv_screen *s, unsigned row, unsigned column, enum adv_attribute a,
			  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Gives a whole row an attribute. */
void adv_screen_mark(struct adv_screen *s, unsigned row, enum adv_attribute a);

#endif
