/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "records.h"

#include <stdint.h>
#include <string.h>

#include "base/rng.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
				 uint8_t *out, size_t out_size, unsigned seed);

#define SMALL 8

struct program {
	uint8_t *step;
	size_t steps;
	size_t room;
	struct adv_rng rng;
};

static uint8_t *step_at(const struct program *p, size_t i)
{
	return p->step + i * fuzz_record_len;
}

static size_t random_below(struct program *p, size_t n)
{
	return (size_t)adv_rng_below(&p->rng, n);
}

/* Makes a gap before step `at`. */
static void make_room(struct program *p, size_t at)
{
	memmove(step_at(p, at + 1), step_at(p, at), (p->steps - at) * fuzz_record_len);
	p->steps++;
}

static void change_byte(struct program *p, uint8_t *byte)
{
	switch (random_below(p, 4)) {
	case 0:
		*byte = (uint8_t)random_below(p, 256);
		break;
	case 1:
		*byte ^= (uint8_t)(1u << random_below(p, 8));
		break;
	case 2:
		*byte = (uint8_t)(*byte + 1 + random_below(p, SMALL));
		break;
	default:
		*byte = (uint8_t)(*byte - 1 - random_below(p, SMALL));
	}
}

static void insert_new(struct program *p)
{
	size_t at = random_below(p, p->steps + 1);

	if (p->steps == p->room)
		return;
	make_room(p, at);
	for (size_t i = 0; i < fuzz_record_len; i++)
		step_at(p, at)[i] = random_below(p, 3) ? (uint8_t)random_below(p, 256) : 0;
}

/* Inserts a copy of a step. Half of the copies differ in a byte. */
static void insert_copy(struct program *p)
{
	size_t at = random_below(p, p->steps + 1), from = random_below(p, p->steps);

	if (p->steps == p->room)
		return;
	make_room(p, at);
	memcpy(step_at(p, at), step_at(p, from >= at ? from + 1 : from), fuzz_record_len);
	if (random_below(p, 2))
		change_byte(p, step_at(p, at) + random_below(p, fuzz_record_len));
}

static void erase_steps(struct program *p)
{
	size_t at = random_below(p, p->steps),
	       n = 1 + random_below(p, p->steps - at < SMALL ? p->steps - at : SMALL);

	memmove(step_at(p, at), step_at(p, at + n), (p->steps - at - n) * fuzz_record_len);
	p->steps -= n;
}

static void swap_steps(struct program *p)
{
	uint8_t *a = step_at(p, random_below(p, p->steps)),
		*b = step_at(p, random_below(p, p->steps));

	for (size_t i = 0; i < fuzz_record_len; i++) {
		uint8_t old = a[i];

		a[i] = b[i];
		b[i] = old;
	}
}

static void mutate_once(struct program *p)
{
	size_t choice = random_below(p, 16);

	if (p->steps == 0 || choice == 0) {
		insert_new(p);
	} else if (choice < 4) {
		insert_copy(p);
	} else if (choice == 4) {
		erase_steps(p);
	} else if (choice == 5) {
		swap_steps(p);
	} else if (choice < 12) {
		change_byte(p, step_at(p, random_below(p, p->steps)) +
				       random_below(p, fuzz_record_len));
	} else {
		/* libFuzzer uses the values that it has seen in comparisons. The size is unchanged.
		 */
		uint8_t *step = step_at(p, random_below(p, p->steps));
		size_t n = LLVMFuzzerMutate(step, fuzz_record_len, fuzz_record_len);

		memset(step + n, 0, fuzz_record_len - n);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct program p = {.step = data + fuzz_records_from};

	if (max_size < fuzz_records_from)
		return size;
	adv_rng_seed(&p.rng, seed);
	if (size < fuzz_records_from) {
		memset(data + size, 0, fuzz_records_from - size);
		size = fuzz_records_from;
	}
	p.steps = (size - fuzz_records_from) / fuzz_record_len;
	p.room = (max_size - fuzz_records_from) / fuzz_record_len;
	for (size_t n = 1 + random_below(&p, 4); n > 0; n--)
		mutate_once(&p);
	if (random_below(&p, 16) == 0)
		change_byte(&p, data + random_below(&p, fuzz_records_from));
	return fuzz_records_from + p.steps * fuzz_record_len;
}

/* Joins the first steps of `a` and the last steps of `b`. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
				 uint8_t *out, size_t out_size, unsigned seed)
{
	struct adv_rng rng;
	size_t head, tail, from = fuzz_records_from;

	if (a_size < from || b_size < from || out_size < from)
		return 0;
	adv_rng_seed(&rng, seed);
	head = from +
	       (size_t)adv_rng_below(&rng, (a_size - from) / fuzz_record_len + 1) * fuzz_record_len;
	tail = (size_t)adv_rng_below(&rng, (b_size - from) / fuzz_record_len + 1) * fuzz_record_len;
	if (head > out_size)
		head = from;
	if (tail > out_size - head)
		tail = (out_size - head) / fuzz_record_len * fuzz_record_len;
	memcpy(out, a, head);
	memcpy(out + head, b + from, tail);
	return head + tail;
}
