/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The statistics of running programs, which are JSON on their control sockets: two lists of rows
 * with counts that only grow. It needs no header of verbs.
 */
#ifndef ADV_STORAGE_KIT_STAT_H
#define ADV_STORAGE_KIT_STAT_H

#include <stddef.h>

#include "storage/kit/control_client.h"

struct json_object;

enum { ADV_KIT_STAT_NAME = 256, ADV_KIT_STAT_COUNTS = 9, ADV_KIT_STAT_LISTS = 2 };

/* The statistics that a kind of programs has. */
struct adv_kit_stat_kind {
	const struct adv_kit_control_kind *control;
	struct {
		const char *title;
		const char *key;   /* of the list */
		const char *name;  /* the key of a row's name */
		const char *gauge; /* that of its gauge; NULL: it has none */
	} list[ADV_KIT_STAT_LISTS];
	/* The keys of the counts, in the order of the structure that has them. */
	const char *counts[ADV_KIT_STAT_COUNTS];
};

struct adv_kit_stat_row {
	unsigned list;
	char name[ADV_KIT_STAT_NAME]; /* printable */
	uint32_t nsid;		      /* of a namespace; 0: it is none */
	uint64_t gauge;		      /* of its connections, or its size */
	uint64_t counts[ADV_KIT_STAT_COUNTS];
};

/* What a program has done. */
struct adv_kit_stat {
	const struct adv_kit_stat_kind *kind;
	char program[ADV_KIT_CONTROL_NAME + 1];
	uint64_t at_ns; /* of adv_clock_ns() */
	struct adv_kit_stat_row *row;
	size_t count;
};

/* Appends a row to the array of its list. */
void adv_kit_stat_add(const struct adv_kit_stat_kind *kind, struct json_object *const *lists,
		      const struct adv_kit_stat_row *row);
/* Sends the arrays of all lists to a client of the control socket, and drops the references to
 * them. */
void adv_kit_stat_send(const struct adv_kit_stat_kind *kind, struct json_object *const *lists,
		       int fd);

/* Reads the statistics of the program with this control name. False: `why`, and *stat is empty. */
bool adv_kit_stat_read(const struct adv_kit_stat_kind *kind, const char *program,
		       struct adv_kit_stat *stat, char why[ADV_KIT_CONTROL_REPLY]);
/* Reads those of all programs of a kind that answer this user. Returns their number. */
size_t adv_kit_stat_read_all(const struct adv_kit_stat_kind *kind,
			     struct adv_kit_stat stats[ADV_KIT_CONTROL_NAMES]);
void adv_kit_stat_free(struct adv_kit_stat *stat);

/* Returns the row of `last` that is the same one; NULL: none. */
const struct adv_kit_stat_row *adv_kit_stat_find(const struct adv_kit_stat *last,
						 const struct adv_kit_stat_row *row);
/* Copies what the counts of a row have grown by into the structure that has them, of `size` bytes.
 * last NULL: since the start. A row that has come again begins at 0. */
void adv_kit_stat_growth(const struct adv_kit_stat_row *now, const struct adv_kit_stat_row *last,
			 void *counts, size_t size);

/* True if people want to see a row: of the second list only one that is connected. */
static inline bool adv_kit_stat_is_shown(const struct adv_kit_stat_row *row)
{
	return row->list == 0 || row->gauge > 0;
}

#endif
