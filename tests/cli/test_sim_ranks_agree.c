/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rank 0 does if it alone cannot read or build the scenario. The other rank is a list of
 * mails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/module.h"
#include "cli/sim/mpi.h"
#include "cli/sim/ranks.h"

/* The mails of rank 1, one for each exchange. */
struct other {
	const uint8_t *bytes[4];
	size_t len[4];
	unsigned next;
};

static struct other other;
static jmp_buf failed;

static void exchange(void *user, const struct adv_mail *out, struct adv_mail *in)
{
	unsigned i = other.next++;

	assert_true(i < 4);
	adv_mail_clear(&in[1]);
	if (other.len[i])
		adv_mail_add(&in[1], other.bytes[i], other.len[i]);
}

static void fail_all(void *user, const char *why)
{
	assert_string_equal(why, "no memory");
	longjmp(failed, 1);
}

static void open_ranks(struct adv_ranks *ranks)
{
	*ranks = (struct adv_ranks){.count = 2, .exchange = exchange, .fail = fail_all};
}

static void close_ranks(void)
{
}

static const struct adv_sim_mpi mpi = {open_ranks, close_ranks};

const void *adv_module_load(const char *who, const struct adv_module *m)
{
	return &mpi;
}

char *adv_cli_read_file(const char *who, const char *name, size_t most, size_t *len)
{
	*len = 1;
	return strdup("x");
}

/* Opens the ranks and reads a file. Then rank 1 sends `bytes`. */
static void begin(struct adv_sim_ranks *r, const void *bytes, size_t len)
{
	char *argv[] = {"sim"}, *text;
	size_t size;

	other = (struct other){.bytes = {[2] = bytes}, .len = {[2] = len}};
	memset(r, 0, sizeof(*r));
	assert_true(adv_sim_ranks_open(r, 1, argv));
	text = adv_sim_ranks_read_file(r, "name", 1, &size);
	assert_string_equal(text, "x");
	free(text);
}

/* Returns what adv_sim_ranks_agree() returns; -1: it has ended all ranks. */
static int agree(bool good, const void *bytes, size_t len)
{
	struct adv_sim_ranks r;
	int result;

	begin(&r, bytes, len);
	result = setjmp(failed) ? -1 : adv_sim_ranks_agree(&r, good, "no memory");
	assert_int_equal(other.next, 3);
	adv_sim_ranks_close(&r);
	return result;
}

static void test_same(void **state)
{
	assert_int_equal(agree(true, "\1", 1), 1);
	assert_int_equal(agree(false, "\0", 1), 0);
	assert_int_equal(agree(true, "\0", 1), 0);
	/* The other rank has read the scenario too, and learns that rank 0 has not. */
	assert_int_equal(agree(false, "\1", 1), 0);
}

/* The other rank, which has read the scenario, waits for the next file. */
static void test_alone(void **state)
{
	assert_int_equal(agree(false, NULL, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
