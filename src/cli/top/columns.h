/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The columns of `adverb top`: which ones fit the terminal, and their texts. Pure. */
#ifndef ADV_CLI_TOP_COLUMNS_H
#define ADV_CLI_TOP_COLUMNS_H

#include "cli/top/model.h"

#define ADV_TOP_CELL	96 /* bytes of a cell's text */
#define ADV_TOP_COLUMNS 24 /* most columns of a table */

struct adv_top_column {
	const char *title;
	uint8_t width;
	uint8_t rank; /* columns with a high rank are left out of narrow terminals first */
	bool left;    /* text is at the left edge */
	/* Writes the text of a cell. Returns true if it is an alert. */
	bool (*print)(char text[ADV_TOP_CELL], const struct adv_top_row *r);
};

/* Selects the columns that fit: of programs, or of queue pairs. Returns their number. */
unsigned adv_top_columns(bool queue_pairs, unsigned width,
			 const struct adv_top_column *chosen[ADV_TOP_COLUMNS]);

/* Writes a number with three digits and a factor: "0", "12", "1.23k", "45.6M", "789G". */
#define ADV_TOP_SI 8
void adv_top_si(char text[ADV_TOP_SI], double value);
/* Writes a duration with its unit: "850n", "1.23u", "45.6m", "7.89s"; "-": 0. */
void adv_top_duration(char text[ADV_TOP_SI], uint64_t ns);
/* Writes the address of a QP's peer and its number; "-": none. */
void adv_top_peer(char text[ADV_TOP_CELL], const struct adv_object *qp);

#endif
