/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls whose errors test_errno.c checks, and the objects that they use. */
#ifndef ADV_TESTS_ABI_VERBS_ERRNO_CALLS_H
#define ADV_TESTS_ABI_VERBS_ERRNO_CALLS_H

#include "harness.h"

#define SENTINEL EXDEV /* no verbs call returns it */

/* `kind`: the way in which a call returns its error. `where`: the process in which it fails. */
enum kind { ERROR, NEGATIVE, MINUS_ONE, OBJECT };
enum where { HERE, IN_A_CHILD, WITHOUT_FILES };

struct failing {
	const char *name; /* name of the symbol or the operation */
	long (*call)(void);
	int error;
	enum kind kind;
	enum where where;
};

extern const struct failing failing_calls[];
extern const unsigned failing_count;

/* Calls that return nothing, or that a program cannot make fail. */
extern const char *const unfailing_calls[];
extern const unsigned unfailing_count;

extern struct pair p, ud;    /* both sides of p use SRQs; ud is not connected */
extern struct ibv_qp_ex *ex; /* QP in RESET, for ibv_wr_*() */

/* Setup of the objects, for cmocka. */
int open_errno_objects(void **state);
/* Teardown of the objects, for cmocka. */
int close_errno_objects(void **state);

#endif
