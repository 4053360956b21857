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
#include "storage/nvme/status.h"
#include "storage/nvme_server/backend.h"
#include "storage/nvme_server/worker.h"

#define NQN "nqn.2026-01.test:disk"
enum { TRIES = 20000, QUEUE = 8 };

struct lab {
	struct adv_nvme_shared shared;
	struct adv_nvme_subsystem *subsystem;
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

	memset(&lab, 0, sizeof(lab));
	pthread_mutex_init(&lab.shared.lock, NULL);
	lab.shared.target = adv_nvme_target_create(&config);
	lab.shared.buffer_bytes = 4 << 20;
	lab.shared.address_share = 100;
	adv_list_init(&lab.shared.holders);
	assert_int_equal(adv_nvme_target_add_subsystem(lab.shared.target, NQN, "1", &lab.subsystem),
			 0);
	lab.verbs = fake_open(purge);
	lab.shared.pd = ibv_alloc_pd(lab.verbs);
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
	ibv_dealloc_pd(lab.shared.pd);
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

/* Connects a queue from 192.0.2.`host`. Returns its id, which *qp_num belongs to; *qp_num is 0 if
 * the connection is refused, and the id is destroyed. */
static struct rdma_cm_id *open_queue_from(uint8_t host, uint16_t qid, uint32_t *qp_num)
{
	struct adv_nvme_cm_request cm = {.qid = qid, .hrqsize = QUEUE, .hsqsize = QUEUE - 1};
	uint8_t private_data[ADV_NVME_CM_LEN];
	struct rdma_conn_param param = {.private_data = private_data,
					.private_data_len = sizeof(private_data),
					.initiator_depth = 4};
	struct rdma_cm_id *id = fake_id(lab.verbs);

	((struct sockaddr_in *)&id->route.addr.dst_addr)->sin_addr.s_addr =
		htonl(0xc0000200u + host);
	adv_nvme_cm_request_encode(&cm, private_data);
	adv_nvme_worker_connect(lab.worker, id, &param);
	*qp_num = fake_last_qp();
	return id;
}

static struct rdma_cm_id *open_queue(uint16_t qid, uint32_t *qp_num)
{
	return open_queue_from(1, qid, qp_num);
}

static struct adv_nvme_sgl sgl_of(void *data, uint32_t length)
{
	return (struct adv_nvme_sgl){
		.id = ADV_NVME_SGL_KEYED, .length = length, .address = (uintptr_t)data};
}

/* Makes the Connect command of queue `qid`, of a new or an existing controller. */
static void make_queue_connect(uint8_t capsule[ADV_NVME_COMMAND_LEN], uint16_t cid, uint16_t qid,
			       uint16_t cntlid)
{
	struct adv_nvme_connect connect = {.qid = qid, .sqsize = QUEUE - 1};
	struct adv_nvme_connect_data data = {
		.cntlid = cntlid, .subsystem_nqn = NQN, .host_nqn = "nqn.2026-01.test:host"};
	struct adv_nvme_command command = {0};

	adv_nvme_connect_encode(&connect, &command);
	command.id = cid;
	command.psdt = 1;
	command.sgl = sgl_of(lab.data, ADV_NVME_CONNECT_LEN);
	adv_nvme_connect_data_encode(&data, lab.data);
	adv_nvme_command_encode(&command, capsule);
}

static void make_connect(uint8_t capsule[ADV_NVME_COMMAND_LEN], uint16_t cid)
{
	make_queue_connect(capsule, cid, 0, ADV_NVME_ANY_CNTLID);
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
	struct rdma_cm_id *id = open_queue(0, qp_num);
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
	id = open_queue(0, &second);
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
			open_queue(0, &qp_num);
			make_connect(capsule, 9);
		}
		fake_fail_posts(1 + i / 2);
		fake_receive(qp_num, capsule, sizeof(capsule), false);
		WAIT(adv_nvme_worker_load(lab.worker) == 0);
		fake_fail_posts(0);
	}
	destroy();
}

/* Sends a capsule that ends the connection, and gives the worker time to end it. */
static void send_short_capsule(uint32_t qp_num)
{
	uint8_t byte = 0;

	fake_receive(qp_num, &byte, sizeof(byte), false);
	for (unsigned i = 0; i < 100 && fake_qp_exists(qp_num); i++)
		usleep(1000);
}

/* A host breaks the protocol before the target has accepted its connection to the end, which then
 * succeeds or fails: the connection ends once. */
static void test_ends_while_accepted(void **state)
{
	uint32_t qp_num;

	create(true);
	for (int result = 0; result >= -1; result--) {
		fake_accept(send_short_capsule, result);
		open_queue(0, &qp_num);
		WAIT(adv_nvme_worker_load(lab.worker) == 0 && !fake_qp_exists(qp_num));
	}
	destroy();
}

/* Connections that cannot be accepted, or get no queue pair, end. */
static void test_not_accepted(void **state)
{
	uint32_t qp_num;

	create(true);
	fake_accept(NULL, -1);
	open_queue(0, &qp_num);
	WAIT(adv_nvme_worker_load(lab.worker) == 0 && !fake_qp_exists(qp_num));
	fake_fail_qp();
	open_queue(0, &qp_num);
	WAIT(adv_nvme_worker_load(lab.worker) == 0);
	destroy();
}

/* The fake device has receives for so many connections. */
enum { MOST = 32 };

static void end_all(struct rdma_cm_id **ids, const uint32_t *qp_nums, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (qp_nums[i] && fake_qp_exists(qp_nums[i]))
			adv_nvme_worker_disconnected(ids[i]->context);
	}
	WAIT(adv_nvme_worker_load(lab.worker) == 0);
}

/* Sends Connect on an open queue. */
static void send_connect(uint32_t qp_num)
{
	uint8_t capsule[ADV_NVME_COMMAND_LEN];

	make_connect(capsule, 1);
	fake_receive(qp_num, capsule, sizeof(capsule), false);
	assert_int_equal(expect_response(qp_num).status, 0);
}

/* An address gets no more than its share, and the rest is for others. When its connections end, it
 * gets new ones. */
static void test_address_share(void **state)
{
	struct rdma_cm_id *ids[MOST];
	uint32_t qp_nums[MOST], one_more;

	create(true);
	lab.shared.address_share = 50;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < MOST; i++) {
			ids[i] = open_queue_from(i < MOST / 2 ? 1 : 2, 0, &qp_nums[i]);
			assert_int_not_equal(qp_nums[i], 0);
			send_connect(qp_nums[i]);
		}
		open_queue_from(1, 0, &one_more);
		assert_int_equal(one_more, 0);
		end_all(ids, qp_nums, MOST);
	}
	assert_true(adv_list_empty(&lab.shared.holders));
	destroy();
}

/* An address that has its share gets a new connection in place of its oldest one without a Connect.
 */
static void test_share_renewed(void **state)
{
	enum { SHARE = MOST / 2 };
	struct rdma_cm_id *ids[2 * SHARE];
	uint32_t qp_nums[2 * SHARE];

	create(true);
	lab.shared.address_share = 50;
	for (unsigned i = 0; i < 2 * SHARE; i++) {
		ids[i] = open_queue_from(1, 0, &qp_nums[i]);
		assert_int_not_equal(qp_nums[i], 0);
		if (i < SHARE)
			continue;
		WAIT(!fake_qp_exists(qp_nums[i - SHARE]));
		qp_nums[i - SHARE] = 0;
		assert_int_equal(adv_nvme_worker_load(lab.worker), SHARE * 32);
	}
	end_all(ids, qp_nums, 2 * SHARE);
	destroy();
}

/* When few receives are left, the oldest connection without a Connect gives way to a new one, of
 * the address that has most of them. Connections with a Connect stay. */
static void test_silent_give_way(void **state)
{
	/* So many may be open before one gives way. */
	enum { FULL = MOST * 3 / 4, SILENT = FULL - 2, NEW = SILENT - 2 };
	struct rdma_cm_id *ids[FULL + NEW];
	uint32_t qp_nums[FULL + NEW];
	unsigned at = 0;

	create(true);
	ids[at] = open_queue_from(1, 0, &qp_nums[at]);
	send_connect(qp_nums[at++]);
	for (unsigned i = 0; i < SILENT; i++, at++)
		ids[at] = open_queue_from(1, 0, &qp_nums[at]);
	ids[at] = open_queue_from(2, 0, &qp_nums[at]);
	at++;
	for (unsigned i = 1; i <= NEW; i++, at++) {
		assert_true(fake_qp_exists(qp_nums[i]));
		ids[at] = open_queue_from(3, 0, &qp_nums[at]);
		assert_int_not_equal(qp_nums[at], 0);
		WAIT(!fake_qp_exists(qp_nums[i]));
		qp_nums[i] = 0;
		send_connect(qp_nums[at]);
	}
	for (unsigned i = 0; i < at; i++)
		assert_int_equal(fake_qp_exists(qp_nums[i]), i < 1 || i > NEW);
	end_all(ids, qp_nums, at);
	destroy();
}

/* Sends `count` commands that the worker sees together, but perhaps the first. */
static void receive_together(uint32_t qp_num, unsigned count)
{
	uint8_t capsule[ADV_NVME_COMMAND_LEN];

	pthread_mutex_lock(&lab.shared.lock);
	for (unsigned i = 0; i < count; i++) {
		make_property_get(capsule, (uint16_t)(100 + i));
		fake_receive(qp_num, capsule, sizeof(capsule), false);
	}
	pthread_mutex_unlock(&lab.shared.lock);
}

/* Of responses that are posted together only the last one completes, and ends all requests: none is
 * lost, however many there are. */
static void test_responses_together(void **state)
{
	struct rdma_cm_id *id;
	uint32_t qp_num;

	create(true);
	id = connect_host(&qp_num);
	for (unsigned round = 0; round < 200; round++) {
		receive_together(qp_num, 4);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(expect_response(qp_num).id, 100 + i);
	}
	lose(id, qp_num);
	destroy();
}

/* The connection ends if such responses cannot be posted, or fail. */
static void test_responses_fail(void **state)
{
	uint32_t qp_num;

	create(true);
	for (unsigned i = 0; i < 2; i++) {
		connect_host(&qp_num);
		if (i == 0)
			fake_fail_posts(2);
		else
			fake_break(qp_num);
		receive_together(qp_num, 4);
		WAIT(adv_nvme_worker_load(lab.worker) == 0);
		fake_fail_posts(0);
	}
	destroy();
}

/* Sends a command, and returns its result. */
static uint64_t run(uint32_t qp_num, const struct adv_nvme_command *command)
{
	uint8_t capsule[ADV_NVME_COMMAND_LEN];
	struct adv_nvme_completion completion;

	adv_nvme_command_encode(command, capsule);
	fake_receive(qp_num, capsule, sizeof(capsule), false);
	completion = expect_response(qp_num);
	assert_int_equal(completion.status, 0);
	return completion.result;
}

/* Connects a host, and enables its controller. Returns the QP number of its I/O queue. */
static uint32_t connect_io(struct rdma_cm_id *ids[2])
{
	struct adv_nvme_property_access enable = {
		.offset = ADV_NVME_CC, .value = ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE};
	uint8_t capsule[ADV_NVME_COMMAND_LEN];
	struct adv_nvme_command command = {0};
	struct adv_nvme_completion completion;
	uint32_t admin, io;

	ids[0] = open_queue(0, &admin);
	make_connect(capsule, 1);
	fake_receive(admin, capsule, sizeof(capsule), false);
	completion = expect_response(admin);
	assert_int_equal(completion.status, 0);
	adv_nvme_property_encode(&enable, true, &command);
	command.psdt = 1;
	run(admin, &command);
	ids[1] = open_queue(1, &io);
	make_queue_connect(capsule, 2, 1, (uint16_t)completion.result);
	fake_receive(io, capsule, sizeof(capsule), false);
	assert_int_equal(expect_response(io).status, 0);
	return io;
}

/* Adds a namespace of 768 blocks in memory: an extent of 2 MiB, and one of 1 MiB. */
static struct adv_nvme_backend *add_ram(uint32_t *nsid, bool registered)
{
	struct adv_nvme_backend_config config = {.path = "ram:3MiB"};
	struct adv_nvme_namespace_config ns = {.blocks = 768, .block_shift = 12};
	char why[ADV_NVME_BACKEND_WHY];

	ns.backend = adv_nvme_backend_open(&config, why);
	assert_non_null(ns.backend);
	if (registered)
		adv_nvme_backend_register(ns.backend, lab.shared.pd);
	pthread_mutex_lock(&lab.shared.lock);
	assert_int_equal(adv_nvme_subsystem_add_namespace(lab.subsystem, 0, &ns, nsid), 0);
	pthread_mutex_unlock(&lab.shared.lock);
	return ns.backend;
}

static void end_host(struct rdma_cm_id *ids[2], uint32_t io)
{
	fake_break(io);
	adv_nvme_worker_disconnected(ids[1]->context);
	adv_nvme_worker_disconnected(ids[0]->context);
	WAIT(adv_nvme_worker_load(lab.worker) == 0);
}

/* Reads leave from the memory of a namespace if it is registered; otherwise from a buffer. */
static void test_read_in_place(void **state)
{
	static uint8_t data[3 * 4096], back[3 * 4096];
	struct adv_nvme_command command = {.psdt = 1};
	struct adv_nvme_backend *backends[2];
	struct rdma_cm_id *ids[2];
	uint32_t io, key, buffers_key;

	create(true);
	io = connect_io(ids);
	memset(data, 0xa5, sizeof(data));
	for (unsigned i = 0; i < 2; i++) {
		backends[i] = add_ram(&command.nsid, i);
		command.opcode = ADV_NVME_WRITE;
		adv_nvme_command_set_blocks(&command, 253, 3);
		command.sgl = sgl_of(data, sizeof(data));
		run(io, &command);
		command.opcode = ADV_NVME_READ;
		command.sgl = sgl_of(back, sizeof(back));
		memset(back, 0, sizeof(back));
		run(io, &command);
		assert_memory_equal(back, data, sizeof(data));
		if (i == 0)
			buffers_key = fake_last_write().lkey;
	}
	assert_null(adv_nvme_backend_memory(backends[0], 0, &key));
	assert_ptr_equal(fake_last_write().addr,
			 adv_nvme_backend_memory(backends[1], 253 << 12, &key));
	assert_int_equal(fake_last_write().lkey, key);
	assert_int_not_equal(key, buffers_key);
	end_host(ids, io);
	for (unsigned i = 0; i < 2; i++)
		adv_nvme_backend_close(backends[i]);
	destroy();
}

/* Sends a Write of bytes of a value, and does not wait. */
static void send_write(uint32_t io, uint32_t nsid, uint64_t slba, uint32_t blocks, uint8_t value)
{
	static uint8_t data[256 << 12];
	struct adv_nvme_command command = {.opcode = ADV_NVME_WRITE, .psdt = 1, .nsid = nsid};
	uint8_t capsule[ADV_NVME_COMMAND_LEN];

	memset(data, value, (size_t)blocks << 12);
	adv_nvme_command_set_blocks(&command, slba, blocks);
	command.sgl = sgl_of(data, blocks << 12);
	adv_nvme_command_encode(&command, capsule);
	fake_receive(io, capsule, sizeof(capsule), false);
}

/* Returns the key of the memory that the data was fetched to. */
static uint32_t fetch_key(uint32_t io, uint32_t nsid, uint64_t slba, uint32_t blocks, uint8_t value)
{
	send_write(io, nsid, slba, blocks, value);
	assert_int_equal(expect_response(io).status, 0);
	return fake_last_read().lkey;
}

/* Data of Writes goes to an extent itself when as many bytes were written to it as it has; to a
 * buffer if the namespace is not registered, at the border of extents, or if a block is longer than
 * a packet. */
static void test_write_in_place(void **state)
{
	struct adv_nvme_backend *with, *without;
	uint32_t io, buffers, keys[2], nsid, plain;
	struct rdma_cm_id *ids[2];
	uint8_t *memory;

	create(true);
	io = connect_io(ids);
	without = add_ram(&plain, false);
	with = add_ram(&nsid, true);
	buffers = fetch_key(io, plain, 512, 256, 1);
	assert_int_equal(fetch_key(io, plain, 512, 256, 1), buffers);
	assert_null(adv_nvme_backend_writable(without, 2 << 20, 4096, &keys[0]));
	assert_int_equal(fetch_key(io, nsid, 512, 255, 1), buffers);
	assert_int_equal(fetch_key(io, nsid, 512, 1, 2), buffers);
	memory = adv_nvme_backend_writable(with, 2 << 20, 1 << 20, &keys[1]);
	assert_non_null(memory);
	assert_int_equal(fetch_key(io, nsid, 766, 2, 3), keys[1]);
	assert_ptr_equal(fake_last_read().addr, memory + (254 << 12));
	assert_int_equal(memory[254 << 12], 3);
	assert_int_equal(memory[(256 << 12) - 1], 3);
	assert_int_equal(fetch_key(io, nsid, 0, 256, 5), buffers);
	assert_int_equal(fetch_key(io, nsid, 256, 256, 5), buffers);
	assert_non_null(adv_nvme_backend_writable(with, 0, 2 << 20, &keys[0]));
	assert_int_equal(fetch_key(io, nsid, 7, 1, 6), keys[0]);
	assert_int_not_equal(keys[0], keys[1]);
	assert_int_equal(fetch_key(io, nsid, 511, 2, 4), buffers);
	assert_int_equal(memory[-1], 4);
	assert_int_equal(memory[0], 4);
	end_host(ids, io);
	fake_set_mtu(IBV_MTU_2048);
	io = connect_io(ids);
	assert_int_equal(fetch_key(io, nsid, 700, 1, 7), buffers);
	end_host(ids, io);
	adv_nvme_backend_close(with);
	adv_nvme_backend_close(without);
	destroy();
}

/* A READ into the namespace fails half way. Its blocks are the new or the old ones, and the host
 * writes them again on a new connection. */
static void test_read_fails(void **state)
{
	struct adv_nvme_backend *backend;
	struct rdma_cm_id *ids[2];
	uint32_t io, key, nsid;
	uint8_t *memory;

	create(true);
	io = connect_io(ids);
	backend = add_ram(&nsid, true);
	fetch_key(io, nsid, 512, 256, 1);
	memory = adv_nvme_backend_writable(backend, 2 << 20, 1 << 20, &key);
	assert_non_null(memory);
	fake_fail_read(2 << 12);
	send_write(io, nsid, 512, 3, 2);
	WAIT(adv_nvme_worker_load(lab.worker) == 32);
	assert_int_equal(memory[(2 << 12) - 1], 2);
	assert_int_equal(memory[2 << 12], 1);
	adv_nvme_worker_disconnected(ids[0]->context);
	WAIT(adv_nvme_worker_load(lab.worker) == 0);
	io = connect_io(ids);
	assert_int_equal(fetch_key(io, nsid, 512, 3, 2), key);
	assert_int_equal(memory[(3 << 12) - 1], 2);
	end_host(ids, io);
	adv_nvme_backend_close(backend);
	destroy();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stale_capsule),
		cmocka_unit_test(test_receives_return),
		cmocka_unit_test(test_failed_posts),
		cmocka_unit_test(test_responses_together),
		cmocka_unit_test(test_responses_fail),
		cmocka_unit_test(test_read_in_place),
		cmocka_unit_test(test_write_in_place),
		cmocka_unit_test(test_read_fails),
		cmocka_unit_test(test_ends_while_accepted),
		cmocka_unit_test(test_not_accepted),
		cmocka_unit_test(test_address_share),
		cmocka_unit_test(test_share_renewed),
		cmocka_unit_test(test_silent_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
