/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `adverb top` shows, and how keys change it. Pure. */
#ifndef ADV_CLI_TOP_VIEW_H
#define ADV_CLI_TOP_VIEW_H

#include "cli/top/screen.h"
#include "cli/top/terminal.h"
#include "cli/top/model.h"
#include "cli/top/storage.h"

#define ADV_TOP_FILTER 32 /* bytes of a filter, with its end */

enum adv_top_page { ADV_TOP_PROGRAMS, ADV_TOP_QUEUE_PAIRS, ADV_TOP_DETAILS, ADV_TOP_STORAGE };

struct adv_top_view {
	enum adv_top_page page;
	uint32_t pid; /* queue pairs of this process; 0: of all */
	uint32_t qpn; /* of ADV_TOP_DETAILS */
	enum adv_top_order order;
	bool reverse;
	bool frozen; /* nothing is read */
	bool help;
	bool typing; /* keys go to the filter */
	bool quit;
	char filter[ADV_TOP_FILTER];
	size_t selected; /* row */
	size_t first;	 /* row at the top of the list */
};

struct adv_top_data {
	bool connected; /* false: no adverbd runs */
	bool hindered; /* not connected: another user's adverbd, or another program, has the port */
	struct adv_control_status status;
	bool port_active;
	uint32_t mbps;
	struct adv_top_row port;	/* with rates */
	struct adv_top_rows rows;	/* compared, filtered and sorted */
	struct adv_top_storage storage; /* of ADV_TOP_STORAGE */
	uint32_t silent;		/* programs that did not answer */
	struct adv_top_row program; /* of ADV_TOP_QUEUE_PAIRS and ADV_TOP_DETAILS; pid 0: none */
};

/* Changes the view by a key: a character or enum adv_key. Returns true if other rows are shown,
 * or in another order. */
bool adv_top_press(struct adv_top_view *v, const struct adv_top_data *d, int key);

/* Draws everything into the screen, whose size is set. Moves the list so that the selected row is
 * visible. batch: all rows from the first, no selection and no line of keys. */
void adv_top_draw(struct adv_screen *s, struct adv_top_view *v, const struct adv_top_data *d,
		  bool batch);

/* Returns how many rows of a screen adv_top_draw() uses in a batch. */
unsigned adv_top_batch_rows(const struct adv_top_view *v, const struct adv_top_data *d);

#endif
