/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host's command identifiers: each completion ends its command, and no other one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/nvme/host_queue.h"

enum { SIZE = 6, COMMANDS = SIZE - 1 };

static void test_full(void **state)
{
	struct adv_nvme_host_queue *q = adv_nvme_host_queue_create(SIZE);
	struct adv_nvme_command command = {0};
	int users[COMMANDS];
	bool seen[COMMANDS] = {false};
	int *lost;

	for (unsigned i = 0; i < COMMANDS; i++)
		assert_int_equal(adv_nvme_host_queue_start(q, &command, &users[i]), 0);
	assert_int_equal(adv_nvme_host_queue_start(q, &command, &users[0]), EAGAIN);
	assert_int_equal(adv_nvme_host_queue_outstanding(q), COMMANDS);
	while ((lost = adv_nvme_host_queue_next_lost(q)) != NULL) {
		assert_false(seen[lost - users]);
		seen[lost - users] = true;
	}
	assert_int_equal(adv_nvme_host_queue_outstanding(q), 0);
	for (unsigned i = 0; i < COMMANDS; i++)
		assert_true(seen[i]);
	adv_nvme_host_queue_destroy(q);
}

/* A completion of any identifier but that of the command under way ends nothing: one that comes
 * twice, one of an earlier command, one of no command. */
static void test_wrong_completions(void **state)
{
	struct adv_nvme_host_queue *q = adv_nvme_host_queue_create(SIZE);
	struct adv_nvme_command command = {0};
	struct adv_nvme_completion c = {0};
	int user;

	for (unsigned turn = 0; turn < 100; turn++) {
		assert_int_equal(adv_nvme_host_queue_start(q, &command, &user), 0);
		for (unsigned id = 0; id <= UINT16_MAX; id++) {
			c.id = (uint16_t)id;
			if (id != command.id)
				assert_null(adv_nvme_host_queue_end(q, &c));
		}
		c.id = command.id;
		assert_ptr_equal(adv_nvme_host_queue_end(q, &c), &user);
		assert_null(adv_nvme_host_queue_end(q, &c));
		assert_int_equal(adv_nvme_host_queue_start(q, &command, &user), 0);
		assert_int_not_equal(command.id, c.id);
		assert_null(adv_nvme_host_queue_end(q, &c));
		assert_ptr_equal(adv_nvme_host_queue_next_lost(q), &user);
	}
	adv_nvme_host_queue_destroy(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_wrong_completions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
