/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a sequence of MADs with any bytes. Checks that encoding a decoded MAD gives the same
 * MAD, and that a connection manager with a listener, an open request and a connection comes to
 * rest.
 */
#include <string.h>

#include "nic/cm/invariants.h"
#include "nic/cm/state.h"
#include "fuzz.h"

#define PORT 7471

/* Checks that a decoded packet is unchanged after it is encoded and decoded again. */
static void fuzz_codec(const uint8_t *data, size_t size)
{
	uint8_t mad[ADV_MAD_LEN], again[ADV_MAD_LEN];
	static struct adv_cm_packet a, b;
	struct adv_cm_ip_header ip;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (!adv_cm_packet_decode(data, size, &a))
		return;
	FUZZ_CHECK(adv_cm_packet_encode(&a, mad));
	FUZZ_CHECK(adv_cm_packet_decode(mad, sizeof(mad), &b));
	FUZZ_CHECK(memcmp(&a, &b, sizeof(a)) == 0);
	FUZZ_CHECK(adv_cm_packet_encode(&b, again));
	FUZZ_CHECK(memcmp(mad, again, sizeof(mad)) == 0);
	if (adv_cm_ip_header_decode(data + 164, size - 164, &ip))
		FUZZ_CHECK(ip.ip_version == 4 || ip.ip_version == 6);
}

/* Delivers the connection manager's events and one MAD of it: the MAD returns to the sender.
 * Returns false if there was neither. */
static bool deliver_events_and_mad(struct adv_cm *cm, uint64_t now)
{
	struct adv_cm_conn_param param = {.qp_num = 0x77};
	struct adv_cm_event event;
	struct adv_cm_mad mad;
	bool something = false;

	while (adv_cm_next_event(cm, &event)) {
		if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			adv_cm_request_taken(event.id);
			adv_cm_accept(event.id, now, &param);
		} else if (event.type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
			adv_cm_establish(event.id, now);
		}
		something = true;
	}
	if (adv_cm_tx(cm, now, &mad)) {
		struct adv_rx_meta meta = {.sgid = mad.path.sgid, .dgid = mad.path.dgid};

		adv_cm_rx(cm, now, &meta, mad.data, sizeof(mad.data));
		something = true;
	}
	return something;
}

static struct adv_cm_id *start_connection(struct adv_cm *cm, const struct adv_gid *gid,
					  uint16_t port)
{
	struct adv_cm_addr local = {.family = AF_INET, .ip = *gid};
	struct adv_cm_addr remote = {.family = AF_INET, .port = port, .ip = *gid};
	struct adv_cm_route route = {.path = {.sgid = *gid, .dgid = *gid}, .mtu = IBV_MTU_1024};
	struct adv_cm_conn_param param = {.qp_num = 0x66};
	struct adv_cm_id *id = adv_cm_id_create(cm, RDMA_PS_TCP, IBV_QPT_RC, NULL);

	FUZZ_CHECK(id && adv_cm_set_peer(id, &local, &remote) == 0);
	FUZZ_CHECK(adv_cm_set_route(id, &route) == 0);
	FUZZ_CHECK(adv_cm_connect(id, 0, &param) == 0);
	return id;
}

/* Writes the id's communication IDs into the MAD. Those that the fuzzer chooses would never match.
 */
static void set_comm_ids(uint8_t mad[ADV_MAD_LEN], const struct adv_cm_id *id)
{
	struct adv_cm_packet p;

	if (!adv_cm_packet_decode(mad, ADV_MAD_LEN, &p))
		return;
	switch (p.attribute) {
	case ADV_CM_REQ:
	case ADV_CM_SIDR_REQ:
	case ADV_CM_SIDR_REP:
		return;
	default:
		/* All other messages have both communication IDs at the same place. */
		p.rtu.local_comm_id = id->remote_comm_id;
		p.rtu.remote_comm_id = id->local_comm_id;
		p.tid = id->tid;
	}
	FUZZ_CHECK(adv_cm_packet_encode(&p, mad));
}

static void fuzz_machine(const uint8_t *data, size_t size)
{
	struct adv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
	struct adv_rx_meta meta = {.sgid = gid, .dgid = gid};
	struct adv_cm_config config = {.seed = 1, .max_ids = 64};
	struct adv_cm_addr any = {.family = AF_INET, .port = PORT, .ip = gid};
	struct adv_cm *cm = adv_cm_create(&config);
	struct adv_cm_id *listen, *id[2];
	uint64_t now = 0;
	unsigned i;

	FUZZ_CHECK(cm != NULL);
	listen = adv_cm_id_create(cm, RDMA_PS_TCP, IBV_QPT_RC, NULL);
	FUZZ_CHECK(listen && adv_cm_bind(listen, &any, 0) == 0 && adv_cm_listen(listen, 8) == 0);
	id[0] = start_connection(cm, &gid, PORT);
	for (i = 0; i < 1000 && deliver_events_and_mad(cm, now); i++)
		;
	FUZZ_CHECK(adv_cm_id_busy(id[0]));
	id[1] = start_connection(cm, &gid, PORT + 1);
	for (i = 0; size >= ADV_MAD_LEN; i++, data += ADV_MAD_LEN, size -= ADV_MAD_LEN) {
		uint8_t mad[ADV_MAD_LEN];

		memcpy(mad, data, sizeof(mad));
		if (mad[4] & 1)
			set_comm_ids(mad, id[mad[4] >> 1 & 1]);
		adv_cm_rx(cm, now, &meta, mad, sizeof(mad));
		/* ICMP errors that quote the input, or a message of the connection manager, cut
		 * short. */
		adv_cm_port_unreachable(cm, now, &gid, &gid, data, mad[5]);
		adv_cm_port_unreachable(cm, now, &gid, &gid, id[mad[4] >> 2 & 1]->mad, mad[6]);
		deliver_events_and_mad(cm, now);
		now += 100000000;
		adv_cm_expire(cm, now);
		FUZZ_CHECK(adv_cm_check(cm) == NULL);
	}
	adv_cm_rx(cm, now, &meta, data, size);
	for (i = 0; i < 10000 && adv_cm_deadline(cm) != UINT64_MAX; i++) {
		while (deliver_events_and_mad(cm, now))
			;
		if (adv_cm_deadline(cm) != UINT64_MAX)
			now = adv_cm_deadline(cm);
		adv_cm_expire(cm, now);
	}
	FUZZ_CHECK(adv_cm_deadline(cm) == UINT64_MAX);
	adv_cm_id_destroy(id[0], now);
	adv_cm_destroy(cm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_codec(data, size);
	fuzz_machine(data, size);
	return 0;
}
