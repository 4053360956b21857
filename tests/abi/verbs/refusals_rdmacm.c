/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "refusals.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FAR_AWAY     "192.0.2.99" /* an address that this machine does not have */

static struct rdma_event_channel *channel;
static struct rdma_cm_id *idle;	    /* has no address */
static struct rdma_cm_id *bound;    /* to 127.0.0.1 and a port */
static struct rdma_cm_id *resolved; /* has an address, a route and a queue pair */

static int error_of(int ret)
{
	return ret ? errno : 0;
}

static struct sockaddr *address(const char *text, uint16_t port)
{
	static struct sockaddr_in in;

	in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
	return (struct sockaddr *)&in;
}

static int foreign_address(void)
{
	return error_of(rdma_bind_addr(idle, address(FAR_AWAY, 0)));
}

static int port_in_use(void)
{
	return error_of(
		rdma_bind_addr(idle, address("127.0.0.1", ntohs(rdma_get_src_port(bound)))));
}

static int second_address(void)
{
	return error_of(rdma_bind_addr(bound, address("127.0.0.1", 0)));
}

static int address_of_no_family(void)
{
	struct sockaddr unix_address = {.sa_family = AF_UNIX};

	return error_of(rdma_bind_addr(idle, &unix_address));
}

static int foreign_source(void)
{
	struct sockaddr_in to = *(struct sockaddr_in *)(void *)address("127.0.0.1", 7);

	return error_of(
		rdma_resolve_addr(idle, address(FAR_AWAY, 0), (struct sockaddr *)&to, 1000));
}

static int route_without_address(void)
{
	return error_of(rdma_resolve_route(idle, 1000));
}

static int connection_without_address(void)
{
	struct rdma_conn_param param = {.qp_num = 1};

	return error_of(rdma_connect(idle, &param));
}

static int connection_without_route(void)
{
	struct rdma_conn_param param = {.qp_num = 1};

	return error_of(rdma_connect(bound, &param));
}

static int long_private_data(void)
{
	char data[200] = {0};
	struct rdma_conn_param param = {.private_data = data, .private_data_len = sizeof(data)};

	return error_of(rdma_connect(resolved, &param));
}

static int many_reads(void)
{
	struct rdma_conn_param param = {.initiator_depth = 200};

	return error_of(rdma_connect(resolved, &param));
}

static int queue_pair_without_device(void)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};

	return error_of(rdma_create_qp(idle, NULL, &attr));
}

static int second_queue_pair(void)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};

	return error_of(rdma_create_qp(resolved, NULL, &attr));
}

static int unknown_port_space(void)
{
	struct rdma_cm_id *id;

	return error_of(rdma_create_id(channel, &id, NULL, (enum rdma_port_space)0x7777));
}

static int answer_without_request(void)
{
	struct rdma_conn_param param = {.qp_num = 1};

	return error_of(rdma_accept(resolved, &param));
}

static int refusal_without_request(void)
{
	return error_of(rdma_reject(bound, NULL, 0));
}

static int end_without_connection(void)
{
	return error_of(rdma_disconnect(idle));
}

static int other_event(void)
{
	return error_of(rdma_notify(resolved, IBV_EVENT_QP_FATAL));
}

static int unknown_option(void)
{
	int on = 1;

	return error_of(rdma_set_option(idle, RDMA_OPTION_ID, 99, &on, sizeof(on)));
}

static int request_of_channel(void)
{
	struct rdma_cm_id *id;

	return error_of(rdma_get_request(bound, &id));
}

static int establish_with_queue_pair(void)
{
	return error_of(rdma_establish(resolved));
}

static int other_group(void)
{
	return error_of(rdma_leave_multicast(bound, address("239.1.1.1", 0)));
}

const struct refusal rdmacm_refusals[] = {
	{"foreign address", foreign_address, EADDRNOTAVAIL, "Linux rdma_translate_ip()",
	 "rdma_bind_addr(0x*, 192.0.2.99 port 0): this machine does not have the address (adverb "
	 "devinfo lists its addresses) (EADDRNOTAVAIL)"},
	{"port in use", port_in_use, EADDRINUSE, "Linux cma_check_port()",
	 "rdma_bind_addr(0x*, 127.0.0.1 port *): another id has the port: choose another port, end "
	 "the other program, or set RDMA_OPTION_ID_REUSEADDR (EADDRINUSE)"},
	{"second address", second_address, EINVAL, "Linux rdma_bind_addr(): state",
	 "rdma_bind_addr(0x*, 127.0.0.1 port 0): the id has an address already: create another id "
	 "(EINVAL)"},
	{"AF_UNIX", address_of_no_family, EINVAL, "rdma-core rdma_bind_addr(): ucma_addrlen()",
	 "rdma_bind_addr(0x*): addr is NULL or of an address family other than AF_INET and "
	 "AF_INET6 (EINVAL)"},
	{"foreign source", foreign_source, EADDRNOTAVAIL, "Linux rdma_translate_ip()",
	 "rdma_resolve_addr(0x*, 192.0.2.99 port 0): this machine does not have src_addr "
	 "(EADDRNOTAVAIL)"},
	{"route without address", route_without_address, EINVAL,
	 "Linux rdma_resolve_route(): state",
	 "rdma_resolve_route(0x*): the address is not resolved: wait for "
	 "RDMA_CM_EVENT_ADDR_RESOLVED (EINVAL)"},
	{"connection without address", connection_without_address, EINVAL,
	 "Linux rdma_connect(): state",
	 "rdma_connect(0x*): the id has no device yet: resolve the address first, and wait for "
	 "RDMA_CM_EVENT_ADDR_RESOLVED (EINVAL)"},
	{"connection without route", connection_without_route, EINVAL,
	 "Linux rdma_connect(): state",
	 "rdma_connect(0x*): the route is not resolved, or the id connects already: wait for "
	 "RDMA_CM_EVENT_ROUTE_RESOLVED (EINVAL)"},
	{"200 bytes of private data", long_private_data, EINVAL,
	 "rdma_connect(3); Linux cm_validate_req_param()",
	 "rdma_connect(0x*): private_data_len 200 is above 56, the room of this message: send the "
	 "rest when the connection is established (EINVAL)"},
	{"200 READs", many_reads, EINVAL, "rdma-core ucma_valid_param(): max_initiator_depth",
	 "rdma_connect(0x*): initiator_depth 200 is above 128 (max_qp_init_rd_atom) (EINVAL)"},
	{"queue pair without device", queue_pair_without_device, EINVAL,
	 "rdma-core rdma_create_qp_ex()",
	 "rdma_create_qp(0x*): the id has no device yet: resolve or bind an address first, and "
	 "wait for RDMA_CM_EVENT_ADDR_RESOLVED (EINVAL)"},
	{"second queue pair", second_queue_pair, EINVAL, "rdma-core rdma_create_qp_ex(): id->qp",
	 "rdma_create_qp(0x*): the id has a queue pair already (0x*): rdma_destroy_qp() "
	 "first, or create another id (EINVAL)"},
	{"port space 0x7777", unknown_port_space, EINVAL, "Linux ucma_get_qp_type()",
	 "rdma_create_id(0x*): port space 0x7777: RDMA_PS_TCP, _UDP, _IPOIB and _IB exist "
	 "(EINVAL)"},
	{"accept without request", answer_without_request, EINVAL, "Linux rdma_accept(): state",
	 "rdma_accept(0x*): the id has no unanswered request: accept the id of "
	 "RDMA_CM_EVENT_CONNECT_REQUEST, once (EINVAL)"},
	{"reject without request", refusal_without_request, EINVAL, "Linux rdma_reject(): cm_id.ib",
	 "rdma_reject(0x*): the id has no unanswered request: reject the id of "
	 "RDMA_CM_EVENT_CONNECT_REQUEST, once (EINVAL)"},
	{"disconnect", end_without_connection, EINVAL, "Linux rdma_disconnect(): cm_id.ib",
	 "rdma_disconnect(0x*): the id was never connected: there is nothing to disconnect "
	 "(EINVAL)"},
	{"event QP_FATAL", other_event, EINVAL, "Linux ib_cm_notify()",
	 "rdma_notify(0x*): event 1: only IBV_EVENT_COMM_EST can be notified (EINVAL)"},
	{"option 99", unknown_option, ENOSYS, "Linux ucma_set_option_id()",
	 "rdma_set_option(0x*, level 0, optname 99): there is no such option: RDMA_OPTION_ID (0) "
	 "has TOS, REUSEADDR, AFONLY and ACK_TIMEOUT (0 to 3) (ENOSYS)"},
	{"request with a channel", request_of_channel, EINVAL,
	 "rdma-core rdma_get_request(): id->sync",
	 "rdma_get_request(0x*): the listening id has an event channel: call rdma_get_cm_event() "
	 "(EINVAL)"},
	{"establish with a queue pair", establish_with_queue_pair, EINVAL,
	 "rdma-core rdma_establish(): id->qp",
	 "rdma_establish(0x*): rdma_establish() is for ids without a queue pair: with one, the "
	 "event CONNECT_RESPONSE does not occur (EINVAL)"},
	{"another group", other_group, EADDRNOTAVAIL, "rdma-core rdma_leave_multicast()",
	 "rdma_leave_multicast(0x*, 239.1.1.1 port 0): the id is not in this group: use the "
	 "address that it joined (EADDRNOTAVAIL)"},
};

const unsigned rdmacm_refusal_count = COUNT(rdmacm_refusals);

static void expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, type);
	assert_int_equal(rdma_ack_cm_event(event), 0);
}

int open_rdmacm_objects(void **state)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};

	channel = rdma_create_event_channel();
	assert_non_null(channel);
	assert_int_equal(rdma_create_id(channel, &idle, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_create_id(channel, &bound, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(bound, address("127.0.0.1", 0)), 0);
	assert_int_equal(rdma_create_id(channel, &resolved, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(resolved, NULL, address("127.0.0.1", 7), 5000), 0);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(resolved, 5000), 0);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_create_qp(resolved, NULL, &attr), 0);
	return 0;
}

int close_rdmacm_objects(void **state)
{
	rdma_destroy_qp(resolved);
	assert_int_equal(rdma_destroy_id(resolved), 0);
	assert_int_equal(rdma_destroy_id(bound), 0);
	assert_int_equal(rdma_destroy_id(idle), 0);
	rdma_destroy_event_channel(channel);
	return 0;
}
