/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes whose data is fetched into the namespace itself: their order, and fetches that fail. */
#include "harness.h"

struct hosts {
	struct lab lab;
	struct lab_queue admin, io;
	uint16_t cntlid;
};

static int setup(void **state)
{
	static struct hosts h;
	struct adv_nvme_target_config config = {0};

	lab_create(&h.lab, &config);
	h.cntlid = lab_ready(&h.lab, &h.admin, &h.io, 0);
	h.lab.places = true;
	*state = &h;
	return 0;
}

static int teardown(void **state)
{
	struct hosts *h = *state;

	if (!h->io.closed)
		lab_close(&h->io);
	if (!h->admin.closed)
		lab_close(&h->admin);
	lab_destroy(&h->lab);
	return 0;
}

/* Sends a Write of `blocks` blocks of `value`. */
static void send_write(struct lab_queue *q, uint64_t slba, uint32_t blocks, uint8_t value)
{
	struct adv_nvme_command c = lab_io(ADV_NVME_WRITE, slba, blocks);

	c.sgl.address = value * 4096u;
	memset(q->lab->memory + c.sgl.address, value, (size_t)blocks << LAB_SHIFT);
	lab_send(q, &c);
}

static uint8_t block(const struct lab *lab, unsigned index)
{
	return lab->disk[index << LAB_SHIFT];
}

/* Ends the fetch of the held request `index`, which has fetched one block. */
static void fail_fetch(struct lab *lab, unsigned index)
{
	struct adv_nvme_request *request = lab->held[index];

	assert_int_equal(request->action, ADV_NVME_ACTION_FETCH);
	memcpy(request->data, lab->memory + request->remote.address, 1u << LAB_SHIFT);
	lab->held[index] = lab->held[--lab->held_count];
	adv_nvme_request_fetched(request, lab->now, false);
	lab_run(lab);
}

/* The data comes without a buffer and without a request to the backend. */
static void test_no_copy(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	unsigned before = h->io.responses;

	lab->hold_backend = lab->hold_fetches = true;
	send_write(&h->io, 3, 2, 7);
	assert_int_equal(lab->held_count, 1);
	assert_int_equal(lab->held[0]->action, ADV_NVME_ACTION_FETCH);
	assert_ptr_equal(lab->held[0]->data, lab->disk + (3 << LAB_SHIFT));
	assert_int_equal(lab->buffers, 0);
	lab_continue(lab, 0);
	assert_int_equal(h->io.responses, before + 1);
	assert_int_equal(h->io.last.status, ADV_NVME_SUCCESS);
	assert_int_equal(block(lab, 2), 0);
	assert_int_equal(block(lab, 3), 7);
	assert_int_equal(block(lab, 4), 7);
	assert_int_equal(block(lab, 5), 0);
}

/* The second of two Writes to a block is fetched when the first one has been; others go on. */
static void test_same_block(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	struct adv_nvme_command zero = lab_io(ADV_NVME_WRITE_ZEROES, 4, 1);
	unsigned before = h->io.responses;

	lab->hold_fetches = true;
	send_write(&h->io, 3, 2, 1);
	send_write(&h->io, 4, 2, 2);
	lab_send(&h->io, &zero);
	assert_int_equal(lab->held_count, 1);
	send_write(&h->io, 6, 1, 3);
	assert_int_equal(lab->held_count, 2);
	lab_continue(lab, 1);
	assert_int_equal(h->io.responses, before + 1);
	lab_continue(lab, 0);
	assert_int_equal(h->io.responses, before + 2);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(h->io.responses, before + 4);
	assert_int_equal(block(lab, 3), 1);
	assert_int_equal(block(lab, 4), 0); /* Write Zeroes was the last one */
	assert_int_equal(block(lab, 5), 2);
	assert_int_equal(block(lab, 6), 3);
}

/* A Write whose data is in the capsule waits for a fetch to its block, and the other way round. */
static void test_with_capsule(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	struct adv_nvme_command c = lab_io(ADV_NVME_WRITE, 3, 1);
	uint8_t data[1 << LAB_SHIFT];

	c.sgl.id = ADV_NVME_SGL_OFFSET;
	memset(data, 2, sizeof(data));
	lab->hold_fetches = true;
	send_write(&h->io, 3, 1, 1);
	lab_send_with(&h->io, &c, data, sizeof(data));
	assert_int_equal(block(lab, 3), 0);
	lab_continue(lab, 0);
	assert_int_equal(block(lab, 3), 2);
	lab->hold_backend = true;
	lab_send_with(&h->io, &c, data, sizeof(data));
	send_write(&h->io, 3, 1, 4);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(block(lab, 3), 4);
}

/* A fetch that fails half way ends its Write with an error, and the next Write follows. */
static void test_fetch_fails(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	unsigned before = h->io.responses;

	lab->hold_fetches = true;
	send_write(&h->io, 3, 2, 1);
	send_write(&h->io, 4, 1, 2);
	fail_fetch(lab, 0);
	assert_int_equal(h->io.responses, before + 1);
	assert_int_equal(h->io.last.status, ADV_NVME_DATA_TRANSFER_ERROR);
	assert_int_equal(block(lab, 3), 1);
	assert_int_equal(block(lab, 4), 0);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(h->io.last.status, ADV_NVME_SUCCESS);
	assert_int_equal(block(lab, 4), 2);
}

/* The host loses its connection during a fetch, and repeats the Write on a new one. The old fetch
 * may still write: the new one begins after its end. */
static void test_loss_during_fetch(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	struct lab_queue again;

	for (unsigned fails = 0; fails < 2; fails++) {
		lab->hold_fetches = true;
		send_write(&h->io, 3, 2, 1);
		lab_close(&h->io);
		assert_false(h->io.freed);
		lab->hold_fetches = false;
		assert_int_equal(lab_open(lab, &again, 1, 128), ADV_NVME_CM_OK);
		assert_int_equal(lab_connect(&again, LAB_NQN, h->cntlid, 0), 0);
		send_write(&again, 4, 1, 2);
		assert_int_equal(again.responses, 1);
		if (fails)
			fail_fetch(lab, 0);
		else
			lab_continue(lab, 0);
		assert_true(h->io.freed);
		assert_int_equal(again.responses, 2);
		assert_int_equal(again.last.status, ADV_NVME_SUCCESS);
		assert_int_equal(block(lab, 4), 2);
		lab_close(&again);
		assert_int_equal(lab_open(lab, &h->io, 1, 128), ADV_NVME_CM_OK);
		assert_int_equal(lab_connect(&h->io, LAB_NQN, h->cntlid, 0), 0);
	}
}

/* A connection is lost when its fetch is due and not taken yet: the next Write follows. */
static void test_loss_before_fetch(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	struct lab_queue other, third;
	struct adv_nvme_request *first;

	assert_int_equal(lab_open(lab, &other, 2, 8), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&other, LAB_NQN, h->cntlid, 0), 0);
	assert_int_equal(lab_open(lab, &third, 3, 8), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(&third, LAB_NQN, h->cntlid, 0), 0);
	lab->hold_fetches = true;
	send_write(&h->io, 3, 1, 1);
	send_write(&other, 3, 1, 2);
	send_write(&third, 3, 1, 3);
	assert_int_equal(lab->held_count, 1);
	first = lab->held[--lab->held_count];
	memset(first->data, 1, first->data_length);
	adv_nvme_request_fetched(first, lab->now, true);
	lab_close(&other);
	assert_true(other.freed);
	assert_int_equal(lab->held_count, 1);
	lab_continue(lab, 0);
	assert_int_equal(third.last.status, ADV_NVME_SUCCESS);
	assert_int_equal(block(lab, 3), 3);
	lab_close(&third);
}

/* The queue is closed when its Write gets the memory. */
static void test_placed_too_late(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;

	lab->hold_buffers = lab->hold_fetches = true;
	send_write(&h->io, 3, 1, 1);
	lab_close(&h->io);
	lab_continue(lab, 0);
	assert_int_equal(lab->held_count, 0);
	assert_true(h->io.freed);
}

/* A namespace that is removed during a fetch stays in use until its end. */
static void test_namespace_removed(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;

	lab->hold_fetches = true;
	send_write(&h->io, 3, 1, 1);
	send_write(&h->io, 3, 1, 2);
	assert_int_equal(adv_nvme_subsystem_remove_namespace(lab->subsystem, 0, lab->nsid), 0);
	lab_run(lab);
	assert_null(adv_nvme_target_next_released(lab->target));
	lab_continue(lab, 0);
	assert_null(adv_nvme_target_next_released(lab->target));
	lab_continue(lab, 0);
	assert_int_equal(block(lab, 3), 2);
	assert_int_equal(h->io.last.status, ADV_NVME_SUCCESS);
	assert_ptr_equal(adv_nvme_target_next_released(lab->target), lab->disk);
}

/* A Read is sent from its blocks: without a buffer, and without a request to the backend. */
static void test_found(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	struct adv_nvme_command c = lab_io(ADV_NVME_READ, 3, 2),
				outside = lab_io(ADV_NVME_READ, 0, 2);
	unsigned before = h->io.responses;

	send_write(&h->io, 3, 2, 7);
	lab->hold_backend = true;
	lab->backend_status = ADV_NVME_INTERNAL_ERROR;
	c.sgl.address = 1024;
	memset(lab->memory + 1024, 0, 2 << LAB_SHIFT);
	lab_send(&h->io, &c);
	assert_int_equal(h->io.responses, before + 2);
	assert_int_equal(h->io.last.status, ADV_NVME_SUCCESS);
	assert_int_equal(lab->buffers, 0);
	for (unsigned i = 0; i < 2 << LAB_SHIFT; i++)
		assert_int_equal(lab->memory[1024 + i], 7);
	outside.cdw[0] = LAB_BLOCKS - 1;
	lab_send(&h->io, &outside);
	assert_int_equal(h->io.last.status, ADV_NVME_LBA_RANGE | ADV_NVME_DNR);
}

/* A Read whose connection is lost before it is found ends, and only a Read of blocks is found. */
static void test_found_too_late(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	struct adv_nvme_command others[3] = {lab_io(ADV_NVME_READ, 3, 1),
					     lab_io(ADV_NVME_COMPARE, 3, 1), lab_command(9, 1, 16)};

	lab->hold_buffers = true;
	for (unsigned i = 0; i < 3; i++)
		lab_send(&h->io, &others[i]);
	send_write(&h->io, 3, 1, 1);
	assert_int_equal(lab->held_count, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(adv_nvme_request_may_find(lab->held[i]), i == 0);
	lab_close(&h->io);
	while (lab->held_count)
		lab_continue(lab, 0);
	assert_int_equal(lab->buffers, 0);
	assert_true(h->io.freed);
}

/* What another command may prevent, and what is no Write, is not placed. */
static void test_not_placed(void **state)
{
	struct hosts *h = *state;
	struct lab *lab = &h->lab;
	struct adv_nvme_command fused[2] = {lab_io(ADV_NVME_COMPARE, 3, 1),
					    lab_io(ADV_NVME_WRITE, 3, 1)};
	struct adv_nvme_command others[3] = {lab_io(ADV_NVME_COMPARE, 3, 1),
					     lab_io(ADV_NVME_READ, 3, 1), lab_command(9, 1, 16)};

	fused[0].fuse = ADV_NVME_FUSED_FIRST;
	fused[1].fuse = ADV_NVME_FUSED_SECOND;
	lab->hold_buffers = true;
	lab_send(&h->io, &fused[0]);
	lab_send(&h->io, &fused[1]);
	for (unsigned i = 0; i < 3; i++)
		lab_send(&h->io, &others[i]);
	assert_int_equal(lab->held_count, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_false(adv_nvme_request_may_place(lab->held[i]));
	send_write(&h->io, 3, 1, 1);
	assert_true(adv_nvme_request_may_place(lab->held[5]));
	while (lab->held_count)
		lab_continue(lab, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_copy),	      TEST(test_same_block),
		TEST(test_with_capsule),      TEST(test_fetch_fails),
		TEST(test_loss_during_fetch), TEST(test_loss_before_fetch),
		TEST(test_placed_too_late),   TEST(test_namespace_removed),
		TEST(test_not_placed),	      TEST(test_found),
		TEST(test_found_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
