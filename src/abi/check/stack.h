/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Call stacks of the application, as return addresses. */
#ifndef ADV_ABI_CHECK_STACK_H
#define ADV_ABI_CHECK_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/check/message.h"

/* The files whose frames are hidden. */
enum adv_check_file {
	ADV_CHECK_FILE_OBSERVER,
	ADV_CHECK_FILE_VERBS,
	ADV_CHECK_FILE_RDMACM,
};

struct adv_check_stack {
	unsigned count;
	bool by_library;		   /* librdmacm made the call for the application */
	bool in_library;		   /* a function of libibverbs or librdmacm is in it */
	uintptr_t frame[ADV_CHECK_FRAMES]; /* return addresses, innermost first */
};

/* Loads what the first stack needs, so that a later one allocates nothing. */
void adv_check_stack_prepare(void);

/* Leaves the frames of the loaded file that contains `code` out of the beginning of stacks. For up
 * to 4 files. */
void adv_check_stack_hide(const void *code, enum adv_check_file file);

/* True if `code` is in a hidden file. */
bool adv_check_stack_hides(const void *code);

/* Takes the stack of the calling thread, without the hidden frames at its beginning. Needs the lock
 * of report.h. */
void adv_check_stack_take(struct adv_check_stack *s);

/* Returns a hash of the stack's frames. */
uint64_t adv_check_stack_hash(const struct adv_check_stack *s);

#endif
