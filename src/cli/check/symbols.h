/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions and lines of code addresses, by elfutils' libdw, from the files that a program had
 * loaded. */
#ifndef ADV_CLI_CHECK_SYMBOLS_H
#define ADV_CLI_CHECK_SYMBOLS_H

#include <stdint.h>

struct adv_symbols;

/* One level of a call stack. Strings belong to the struct adv_symbols; NULL: unknown. */
struct adv_symbol {
	const char *function; /* inlined functions have levels of their own */
	const char *file;
	int line;	 /* 0: unknown */
	uint64_t offset; /* of the address in the function; 0 for an inlined function */
};

/* Exits with ADV_EXIT_FAILED if there is no memory. */
struct adv_symbols *adv_symbols_new(void);
void adv_symbols_free(struct adv_symbols *s);

/*
 * Finds the levels at a return address of a file: the call that precedes the address, innermost
 * level first. `address` is relative to the file's load address. Returns the number of levels, at
 * least 1 and at most `most`. If the file has no debug information, there is one level with the
 * function of the symbol table, or with no function.
 */
unsigned adv_symbols_find(struct adv_symbols *s, const char *file, uint64_t address,
			  struct adv_symbol *level, unsigned most);

#endif
