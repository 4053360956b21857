/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Responses whose SENDs complete late: the ACKs of the host are late, or lost. */
#include "harness.h"

/* A host that has the responses sends its next commands before the SENDs complete here: the ACKs
 * may be late, or lost. */
static void test_commands_before_acks(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c = lab_io(ADV_NVME_READ, 0, 1);

	lab_ready(lab, &admin, &io, 0);
	lab->hold_sends = true;
	for (unsigned i = 0; i < 256; i++)
		lab_send(&io, &c);
	assert_false(io.closed);
	/* Further responses wait: otherwise the host could send more commands than there are
	 * requests. */
	assert_int_equal(io.responses, 1 + 128);
	lab_continue(lab, 0);
	assert_int_equal(io.responses, 1 + 129);
	assert_int_equal(io.last.id, c.id - 127);
	lab_send(&io, &c);
	assert_false(io.closed);
	while (lab->held_count > 100)
		lab_continue(lab, 0);
	assert_int_equal(io.responses, 1 + 257);
	/* Only commands without a response count. */
	lab->hold_backend = true;
	for (unsigned i = 0; i < 128; i++)
		lab_send(&io, &c);
	assert_false(io.closed);
	lab_send(&io, &c);
	assert_true(io.closed);
	while (lab->held_count)
		lab_continue(lab, 0);
	assert_true(io.freed);
	lab_close(&admin);
}

/* The connection is lost while responses wait for SENDs. */
static void test_loss_before_acks(void **state)
{
	struct lab *lab = *state;
	struct lab_queue admin, io;
	struct adv_nvme_command c = lab_io(ADV_NVME_READ, 0, 1);

	lab_ready(lab, &admin, &io, 0);
	lab->hold_sends = true;
	for (unsigned i = 0; i < 200; i++)
		lab_send(&io, &c);
	lab_close(&io);
	assert_int_equal(lab->receives, 0);
	assert_int_equal(lab->buffers, 0);
	assert_false(io.freed);
	while (lab->held_count)
		lab_continue(lab, 0);
	assert_true(io.freed);
	assert_int_equal(io.responses, 1 + 128);
	lab_close(&admin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands_before_acks, lab_setup, lab_teardown),
		cmocka_unit_test_setup_teardown(test_loss_before_acks, lab_setup, lab_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
