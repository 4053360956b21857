/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a queue of the host posts: together, receives first. The device notes what is posted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/nvme_host/connection.h"

enum { SIZE = 16, LKEY = 7, DATA_LKEY = 9, MOST = 64 };

/* A posted work request. */
struct posted {
	bool receive, signaled;
	int opcode, num_sge;
	unsigned call; /* calls before */
	uint64_t wr_id;
};

struct fixture {
	struct ibv_context context;
	struct ibv_qp qp;
	struct rdma_cm_id id;
	struct ibv_mr mr;
	uint8_t memory[SIZE * (2 * ADV_NVME_COMMAND_LEN + ADV_NVME_COMPLETION_LEN)];
	struct adv_nvme_host_capsule capsule[SIZE];
	struct adv_nvme_host_connection c;
};

static struct {
	struct posted posted[MOST];
	unsigned count, calls;
	int fails; /* errno of the next posts of sends */
} device;

static void note(struct posted p)
{
	assert_true(device.count < MOST);
	p.call = device.calls;
	device.posted[device.count++] = p;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	*bad = wr;
	if (device.fails)
		return device.fails;
	for (; wr; wr = wr->next)
		note((struct posted){.signaled = wr->send_flags & IBV_SEND_SIGNALED,
				     .opcode = (int)wr->opcode,
				     .num_sge = wr->num_sge,
				     .wr_id = wr->wr_id});
	device.calls++;
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	for (; wr; wr = wr->next) {
		assert_int_equal(wr->sg_list->length, ADV_NVME_COMPLETION_LEN);
		note((struct posted){.receive = true, .wr_id = wr->wr_id});
	}
	device.calls++;
	return 0;
}

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	memset(&device, 0, sizeof(device));
	f.context.ops.post_send = post_send;
	f.context.ops.post_recv = post_recv;
	f.qp.context = &f.context;
	f.id.qp = &f.qp;
	f.mr.lkey = LKEY;
	f.c = (struct adv_nvme_host_connection){.qid = 1,
						.size = SIZE,
						.id = &f.id,
						.mr = &f.mr,
						.memory = f.memory,
						.capsule = f.capsule,
						.room = 2 * SIZE};
	*state = &f;
	return 0;
}

static int send_capsule(struct fixture *f, uint32_t data_length, struct ibv_send_wr *bind)
{
	const struct adv_nvme_command command = {.opcode = ADV_NVME_READ};

	return adv_nvme_host_connection_send(&f->c, &command, f->memory, data_length, DATA_LKEY,
					     bind);
}

/* A flush posts all capsules by one call. The last one completes for the others. */
static void test_together(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.calls, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(send_capsule(f, i == 1 ? 512 : 0, NULL), 0);
	assert_int_equal(device.calls, 0);
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.calls, 1);
	assert_int_equal(device.count, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(device.posted[i].opcode, IBV_WR_SEND);
		assert_int_equal(device.posted[i].num_sge, i == 1 ? 2 : 1);
		assert_int_equal(device.posted[i].signaled, i == 2);
	}
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.calls, 1);
}

/* Receives are there before the commands whose responses use them, also if the flush comes by
 * itself because enough is prepared. */
static void test_receives_first(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(adv_nvme_host_connection_post(&f->c, 3), 0);
	assert_int_equal(adv_nvme_host_connection_post(&f->c, 5), 0);
	for (unsigned i = 0; i < ADV_NVME_HOST_TOGETHER; i++) {
		assert_int_equal(device.calls, 0);
		assert_int_equal(send_capsule(f, 0, NULL), 0);
	}
	assert_int_equal(device.calls, 2);
	assert_int_equal(device.count, 2 + ADV_NVME_HOST_TOGETHER);
	assert_true(device.posted[0].receive && device.posted[1].receive);
	assert_int_equal(device.posted[0].wr_id, ADV_NVME_HOST_WR(ADV_NVME_HOST_RECV, 1, 3));
	assert_int_equal(device.posted[1].wr_id, ADV_NVME_HOST_WR(ADV_NVME_HOST_RECV, 1, 5));
	assert_false(device.posted[2].receive);
}

/* Many receives are posted before there are any capsules. */
static void test_many_receives(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < SIZE; i++)
		assert_int_equal(adv_nvme_host_connection_post(&f->c, i), 0);
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.count, SIZE);
	for (unsigned i = 0; i < SIZE; i++)
		assert_int_equal(device.posted[i].wr_id,
				 ADV_NVME_HOST_WR(ADV_NVME_HOST_RECV, 1, i));
}

/* A window is bound right before its command. */
static void test_binds(void **state)
{
	struct fixture *f = *state;
	struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};

	assert_int_equal(send_capsule(f, 0, &bind), 0);
	assert_int_equal(send_capsule(f, 0, NULL), 0);
	assert_int_equal(send_capsule(f, 0, &bind), 0);
	memset(&bind, 0, sizeof(bind)); /* it need not exist until the flush */
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.calls, 1);
	assert_int_equal(device.count, 5);
	assert_int_equal(device.posted[0].opcode, IBV_WR_BIND_MW);
	assert_int_equal(device.posted[1].opcode, IBV_WR_SEND);
	assert_int_equal(device.posted[2].opcode, IBV_WR_SEND);
	assert_int_equal(device.posted[3].opcode, IBV_WR_BIND_MW);
	assert_int_equal(device.posted[4].opcode, IBV_WR_SEND);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(device.posted[i].signaled, i == 4);
}

/* Capsules wait until SENDs have completed: the ACKs of commands that have responses may be lost.
 */
static void test_no_room(void **state)
{
	struct fixture *f = *state;
	struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};

	for (unsigned i = 0; i < 2 * SIZE; i += 2) {
		assert_int_equal(send_capsule(f, 0, NULL), 0);
		assert_int_equal(send_capsule(f, 0, NULL), 0);
		assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
		assert_int_equal(device.count, i + 2);
	}
	assert_int_equal(send_capsule(f, 0, &bind), 0);
	assert_int_equal(send_capsule(f, 0, NULL), 0);
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.count, 2 * SIZE);
	assert_int_equal(device.posted[1].wr_id, ADV_NVME_HOST_WR(ADV_NVME_HOST_SEND, 1, 2));
	adv_nvme_host_connection_sent(&f->c, 2);
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.count, 2 * SIZE + 2);
	assert_int_equal(device.posted[2 * SIZE].opcode, IBV_WR_BIND_MW);
	assert_true(device.posted[2 * SIZE + 1].signaled);
	assert_int_equal(device.posted[2 * SIZE + 1].wr_id,
			 ADV_NVME_HOST_WR(ADV_NVME_HOST_SEND, 1, 2));
	adv_nvme_host_connection_sent(&f->c, 2);
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.count, 2 * SIZE + 3);
}

/* The flush tells that it failed, and does not try again. */
static void test_fails(void **state)
{
	struct fixture *f = *state;

	device.fails = ENOMEM;
	assert_int_equal(send_capsule(f, 0, NULL), 0);
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), ENOMEM);
	device.fails = 0;
	assert_int_equal(adv_nvme_host_connection_flush(&f->c), 0);
	assert_int_equal(device.count, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_together, setup),
		cmocka_unit_test_setup(test_receives_first, setup),
		cmocka_unit_test_setup(test_many_receives, setup),
		cmocka_unit_test_setup(test_binds, setup),
		cmocka_unit_test_setup(test_no_room, setup),
		cmocka_unit_test_setup(test_fails, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
