/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A worker on a device made of memory: what happens to capsules and receives of connections that
 * end, and to requests that cannot be posted. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include "nvme/status.h"
#include "nvme_rdma/worker.h"

#define NQN "nqn.2026-01.test:disk"
enum { TRIES = 20000, QUEUE = 8 };

struct lab {
	struct adv_nvme_shared shared;
	struct ibv_context *verbs;
	struct adv_nvme_worker *worker;
	struct adv_nvme_worker *workers[1];
	unsigned receives;
	uint8_t data[ADV_NVME_CONNECT_LEN];
};

static struct lab lab;

static void create(bool purge)
{
	struct adv_nvme_target_config config = {.queue_size = 32};
	struct adv_nvme_subsystem *subsystem;

	memset(&lab, 0, sizeof(lab));
	pthread_mutex_init(&lab.shared.lock, NULL);
	lab.shared.target = adv_nvme_target_create(&config);
	lab.shared.buffer_bytes = 4 << 20;
	assert_int_equal(adv_nvme_target_add_subsystem(lab.shared.target, NQN, "1", &subsystem), 0);
	lab.verbs = fake_open(purge);
	lab.worker = adv_nvme_worker_create(&lab.shared, lab.verbs, 0);
	assert_non_null(lab.worker);
	lab.workers[0] = lab.worker;
	pthread_mutex_lock(&lab.shared.lock);
	lab.shared.workers = lab.workers;
	lab.shared.worker_count = 1;
	pthread_mutex_unlock(&lab.shared.lock);
}

static void destroy(void)
{
	assert_int_equal(adv_nvme_worker_load(lab.worker), 0);
	adv_nvme_worker_destroy(lab.worker);
	adv_nvme_target_destroy(lab.shared.target);
	fake_close(lab.verbs);
}

/* Waits for the worker's thread. */
#define WAIT(condition)                                                                            \
	do {                                                                                       \
		unsigned tries_ = 0;                                                               \
		while (!(condition)) {                                                             \
			assert_true(tries_++ < TRIES);                                             \
			usleep(1000);                                                              \
		}                                                                                  \
	} while (0)

/* Connects an admin queue. Returns its id, which *qp_num belongs to. */
static struct rdma_cm_id *open_queue(uint32_t *qp_num)
{
	struct adv_nvme_cm_request cm = {.hrqsize = QUEUE, .hsqsize = QUEUE - 1};
	uint8_t private_data[ADV_NVME_CM_LEN];
	struct rdma_conn_param param = {.private_data = private_data,
					.private_data_len = sizeof(private_data),
					.initiator_depth = 4};
	struct rdma_cm_id *id = fake_id(lab.verbs);

	adv_nvme_cm_request_encode(&cm, private_data);
	adv_nvme_worker_connect(lab.worker, id, &param);
	*qp_num = fake_last_qp();
	return id;
}

static void make_connect(uint8_t capsule[ADV_NVME_COMMAND_LEN], uint16_t cid)
{
	struct adv_nvme_connect connect = {.sqsize = QUEUE - 1};
	struct adv_nvme_connect_data data = {.cntlid = ADV_NVME_ANY_CNTLID,
					     .subsystem_nqn = NQN,
					     .host_nqn = "nqn.2026-01.test:host"};
	struct adv_nvme_command command = {0};

	adv_nvme_connect_encode(&connect, &command);
	command.id = cid;
	command.psdt = 1;
	command.sgl = (struct adv_nvme_sgl){.id = ADV_NVME_SGL_KEYED,
					    .length = ADV_NVME_CONNECT_LEN,
					    .address = (uintptr_t)lab.data};
	adv_nvme_connect_data_encode(&data, lab.data);
	adv_nvme_command_encode(&command, capsule);
}

static void make_property_get(uint8_t capsule[ADV_NVME_COMMAND_LEN], uint16_t cid)
{
	struct adv_nvme_property_access access = {.offset = ADV_NVME_VS};
	struct adv_nvme_command command = {.psdt = 1};

	adv_nvme_property_encode(&access, false, &command);
	command.id = cid;
	command.psdt = 1;
	adv_nvme_command_encode(&command, capsule);
}

/* Returns the next response. */
static struct adv_nvme_completion expect_response(uint32_t qp_num)
{
	struct adv_nvme_completion completion;
	uint8_t bytes[16];

	WAIT(fake_response(qp_num, bytes));
	assert_true(adv_nvme_completion_decode(bytes, sizeof(bytes), &completion));
	return completion;
}

static struct rdma_cm_id *connect_host(uint32_t *qp_num)
{
	struct rdma_cm_id *id = open_queue(qp_num);
	uint8_t capsule[ADV_NVME_COMMAND_LEN];

	make_connect(capsule, 1);
	fake_receive(*qp_num, capsule, sizeof(capsule), false);
	assert_int_equal(expect_response(*qp_num).status, 0);
	return id;
}

static void lose(struct rdma_cm_id *id, uint32_t qp_num)
{
	fake_break(qp_num);
	adv_nvme_worker_disconnected(id->context);
	WAIT(adv_nvme_worker_load(lab.worker) == 0 && !fake_qp_exists(qp_num));
}

/* A capsule of a lost connection is not taken for one of the next connection, whose queue pair has
 * the same number. */
static void test_stale_capsule(void **state)
{
	uint8_t capsule[ADV_NVME_COMMAND_LEN], bytes[16];
	uint32_t first, second;
	struct rdma_cm_id *id;

	create(false);
	id = connect_host(&first);
	make_connect(capsule, 77);
	fake_receive(first, capsule, sizeof(capsule), true);
	lose(id, first);
	id = open_queue(&second);
	assert_int_equal(first, second);
	make_connect(capsule, 5);
	fake_receive(second, capsule, sizeof(capsule), false);
	assert_int_equal(expect_response(second).id, 5);
	assert_false(fake_response(second, bytes));
	lose(id, second);
	destroy();
}

/* Receives that completed for lost connections are posted again, with either kind of device. */
static void test_receives_return(void **state)
{
	uint8_t capsule[ADV_NVME_COMMAND_LEN];
	struct rdma_cm_id *id;
	uint32_t qp_num;
	unsigned all = 0;

	for (unsigned purge = 0; purge < 2; purge++) {
		create(purge);
		for (unsigned i = 0; i < 20; i++) {
			id = connect_host(&qp_num);
			WAIT(fake_receives() % 64 == 0); /* a group */
			if (i == 0)
				all = fake_receives();
			assert_int_equal(fake_receives(), all);
			make_property_get(capsule, 2);
			for (unsigned k = 0; k < QUEUE - 1; k++)
				fake_receive(qp_num, capsule, sizeof(capsule), true);
			lose(id, qp_num);
			WAIT(fake_receives() == all);
		}
		destroy();
	}
}

/* A response or a READ that cannot be posted ends the connection, and nothing else. */
static void test_failed_posts(void **state)
{
	uint8_t capsule[ADV_NVME_COMMAND_LEN];
	uint32_t qp_num;

	create(true);
	for (unsigned i = 0; i < 4; i++) {
		if (i & 1) {
			connect_host(&qp_num);
			make_property_get(capsule, 9);
		} else {
			open_queue(&qp_num);
			make_connect(capsule, 9);
		}
		fake_fail_posts(1 + i / 2);
		fake_receive(qp_num, capsule, sizeof(capsule), false);
		WAIT(adv_nvme_worker_load(lab.worker) == 0);
		fake_fail_posts(0);
	}
	destroy();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stale_capsule),
		cmocka_unit_test(test_receives_return),
		cmocka_unit_test(test_failed_posts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
