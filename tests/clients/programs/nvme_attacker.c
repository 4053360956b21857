/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nvme_attacker hold|break ADDRESS PORT COUNT
 *
 * A host that breaks the rules of NVMe over Fabrics. It makes COUNT connections.
 * hold: it sends nothing on them, prints how many it has, and waits until it is killed.
 * break: each of four threads sends a capsule of one byte as soon as it may send.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/nvme/connect.h"

enum { THREADS = 4, SIZE = 128, TIMEOUT_MS = 2000 };

static struct sockaddr_in target;
static unsigned wanted;
static atomic_uint begun, connected;

/* Connects an I/O queue. NULL: it is refused. */
static struct rdma_cm_id *connect_queue(uint16_t qid)
{
	struct adv_nvme_cm_request cm = {.qid = qid, .hrqsize = SIZE, .hsqsize = SIZE - 1};
	uint8_t private_data[ADV_NVME_CM_LEN];
	struct rdma_conn_param param = {.private_data = private_data,
					.private_data_len = sizeof(private_data),
					.responder_resources = 1,
					.retry_count = 3,
					.rnr_retry_count = 7};
	struct ibv_qp_init_attr qp = {.qp_type = IBV_QPT_RC,
				      .cap = {.max_send_wr = 8,
					      .max_recv_wr = 8,
					      .max_send_sge = 1,
					      .max_recv_sge = 1,
					      .max_inline_data = 64}};
	struct rdma_cm_id *id;

	adv_nvme_cm_request_encode(&cm, private_data);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) != 0)
		return NULL;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&target, TIMEOUT_MS) == 0 &&
	    rdma_resolve_route(id, TIMEOUT_MS) == 0 && rdma_create_qp(id, NULL, &qp) == 0 &&
	    rdma_connect(id, &param) == 0) {
		atomic_fetch_add(&connected, 1);
		return id;
	}
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return NULL;
}

static void *break_rules(void *unused)
{
	char byte = 0;

	while (atomic_fetch_add(&begun, 1) < wanted) {
		struct rdma_cm_id *id = connect_queue(1);

		if (!id)
			continue;
		rdma_post_send(id, NULL, &byte, sizeof(byte), NULL, IBV_SEND_INLINE);
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
	return NULL;
}

static void hold(void)
{
	for (unsigned i = 0; i < wanted; i++)
		connect_queue((uint16_t)(1 + i % 100));
	printf("%u held\n", atomic_load(&connected));
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 5 || inet_pton(AF_INET, argv[2], &target.sin_addr) != 1) {
		fprintf(stderr, "usage: nvme_attacker hold|break ADDRESS PORT COUNT\n");
		return 2;
	}
	target.sin_family = AF_INET;
	target.sin_port = htons((uint16_t)atoi(argv[3]));
	wanted = (unsigned)atoi(argv[4]);
	if (strcmp(argv[1], "hold") == 0)
		hold();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, break_rules, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u broken\n", atomic_load(&connected));
	return 0;
}
