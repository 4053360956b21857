/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The common mistakes of programs that test_refusals.c makes, and what Adverb answers. */
#ifndef ADV_TESTS_ABI_VERBS_REFUSALS_H
#define ADV_TESTS_ABI_VERBS_REFUSALS_H

#include "harness.h"

struct refusal {
	const char *mistake;
	int (*make)(
		void); /* makes it; returns the error as the call returns it, as an error number */
	int error;     /* expected error number */
	const char *source; /* the document or function that decides the error number */
	const char *line;   /* pattern, as of fnmatch(3), of the log's line */
};

extern const struct refusal verbs_refusals[];
extern const unsigned verbs_refusal_count;
extern const struct refusal rdmacm_refusals[];
extern const unsigned rdmacm_refusal_count;

/* Setup and teardown of the objects, for cmocka. */
int open_verbs_objects(void **state);
int close_verbs_objects(void **state);
int open_rdmacm_objects(void **state);
int close_rdmacm_objects(void **state);

#endif
