/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What one rank of a simulation sends to another: values one after the other, in the byte order and
 * layout of the sender. Ranks are the same program on machines of one kind; they check that when
 * they start (`adverb sim --mpi`). The reader trusts no length.
 */
#ifndef ADV_FABRIC_NETWORK_MAIL_H
#define ADV_FABRIC_NETWORK_MAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mail that grows. All zero: empty. */
struct adv_mail {
	uint8_t *data;
	size_t len;
	size_t room;
	bool failed; /* no memory: some values are missing */
};

/* Makes room for `len` bytes in all. False: no memory; it sets `failed`. */
bool adv_mail_reserve(struct adv_mail *m, size_t len);
/* Appends a value. */
void adv_mail_add(struct adv_mail *m, const void *value, size_t size);
/* Empties the mail, which keeps its memory. */
void adv_mail_clear(struct adv_mail *m);
void adv_mail_free(struct adv_mail *m);

struct adv_mail_reader {
	const uint8_t *at;
	size_t left;
};

/* Returns a reader of a whole mail. */
struct adv_mail_reader adv_mail_read(const struct adv_mail *m);
/* Copies the next value. False: the mail is too short; *value is all zero. */
bool adv_mail_take(struct adv_mail_reader *r, void *value, size_t size);
/* Returns the next `count` values of a size, not aligned; NULL: the mail is too short. */
const uint8_t *adv_mail_take_many(struct adv_mail_reader *r, size_t count, size_t size);

#endif
