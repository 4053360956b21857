/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages between librdmacm and adverbd about connections.
 *
 * ADV_CONTROL_OPEN_CM (runtime/control/protocol.h) gives a process a SOCK_SEQPACKET socket for
 * them. The daemon answers each request once, in order and at once: no request waits in the daemon.
 * When the socket closes or the process ends, the daemon destroys all ids that were created on the
 * socket, and closes their connections with DREQ. The socket also closes when the daemon's worker
 * dies. librdmacm then reports that the device was removed.
 *
 * An event channel is a second kind of socket. ADV_UCMA_CMD_CREATE_CHANNEL returns it. The daemon
 * sends one byte on it for each queued event, so the program can poll it. The reader of a byte
 * requests the event with ADV_UCMA_CMD_GET_EVENT. The answer is EAGAIN if the event no longer
 * exists, because its id was destroyed or migrated.
 *
 * All messages have the same size. Numbers are in host byte order unless a comment says otherwise.
 * Addresses have the kernel's format. A message of another length, magic or version ends the
 * connection.
 */
#ifndef ADV_RUNTIME_CONTROL_UCMA_PROTOCOL_H
#define ADV_RUNTIME_CONTROL_UCMA_PROTOCOL_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdint.h>

#include "nic/wire/packet.h"

#define ADV_UCMA_PROTOCOL_MAGIC	  0x4144564du /* "ADVM" */
#define ADV_UCMA_PROTOCOL_VERSION 5
#define ADV_UCMA_MESSAGE_LEN	  512
#define ADV_UCMA_MESSAGE_PRIVATE  255

enum adv_ucma_command {
	ADV_UCMA_CMD_CREATE_CHANNEL = 1, /* answer: channel, and its descriptor */
	ADV_UCMA_CMD_DESTROY_CHANNEL,	 /* channel; EBUSY while it has ids */
	ADV_UCMA_CMD_CREATE_ID,		 /* channel, create; answer: id */
	ADV_UCMA_CMD_DESTROY_ID,	 /* id; unfetched events of the id are discarded */
	ADV_UCMA_CMD_BIND,	   /* id, addr.local; uses the options set before; answer: route */
	ADV_UCMA_CMD_RESOLVE_ADDR, /* id, addr; answer: 0, then event ADDR_RESOLVED or ADDR_ERROR */
	ADV_UCMA_CMD_RESOLVE_ROUTE, /* id, addr.timeout_ms; then ROUTE_RESOLVED or ROUTE_ERROR */
	ADV_UCMA_CMD_QUERY_ROUTE,   /* id; answer: route */
	ADV_UCMA_CMD_LISTEN,	    /* id, value: backlog; answer: route (the port) */
	ADV_UCMA_CMD_CONNECT,	    /* id, conn */
	ADV_UCMA_CMD_ACCEPT,	    /* id, conn; answer of an iWARP id: agreement, and the
				       connection's descriptor */
	ADV_UCMA_CMD_REJECT,	    /* id, conn.reason and private data */
	ADV_UCMA_CMD_ESTABLISH,	    /* id: sends RTU, or reports received data of the consumer;
				       answer of an iWARP id: as ACCEPT */
	ADV_UCMA_CMD_DISCONNECT,    /* id */
	ADV_UCMA_CMD_QP_ATTR,	    /* id, value: enum ibv_qp_state; answer: qp_attr */
	ADV_UCMA_CMD_SET_OPTION,    /* id, option */
	ADV_UCMA_CMD_JOIN,	    /* id, join; answer: value, the membership's number; then
				       MULTICAST_JOIN/ERROR */
	ADV_UCMA_CMD_LEAVE,	    /* id, value */
	ADV_UCMA_CMD_MIGRATE,	    /* id, channel: moves the id and its unfetched events */
	ADV_UCMA_CMD_GET_EVENT,	    /* channel; answer: id, event; EAGAIN: no event is queued */
	ADV_UCMA_CMD_WRITE_EVENT, /* id, event.type (16 and up: librdmacm's own) and status, value:
			       queued like any other event; the answer to
			       ADV_UCMA_CMD_GET_EVENT repeats the value */
};

/* A struct sockaddr_in or sockaddr_in6; family 0: no address. */
union adv_ucma_sockaddr {
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* The addresses and the path of an id, as far as they are known. */
struct adv_ucma_route {
	union adv_ucma_sockaddr local;
	union adv_ucma_sockaddr remote;
	struct adv_gid sgid; /* all 0: bound to no device */
	struct adv_gid dgid;
	uint32_t ifindex; /* of sgid */
	uint32_t flow_label;
	uint16_t pkey;
	uint8_t has_path; /* 1: dgid, flow_label and the members tclass to packet_life_time are
			     known */
	uint8_t port_num;
	uint8_t sgid_index; /* in the table of adverbd; that of the process may be older or newer */
	uint8_t v1;	    /* 1: sgid has the type RoCE v1 in a table of both versions */
	uint8_t tclass;
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t mtu; /* enum ibv_mtu */
	uint8_t rate;
	uint8_t packet_life_time;
	uint8_t no_gid; /* 1: the process's table has no room for the GID of the path */
};

struct adv_ucma_conn {
	uint32_t qp_num;
	uint32_t qkey; /* UD */
	uint32_t srq_num;
	uint32_t ece_vendor_id;
	uint32_t ece_options;
	uint8_t qp_type; /* enum ibv_qp_type */
	uint8_t reason;	 /* reason of a reject: 28 (consumer), or one of rdma_reject(3) */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t srq;
	uint8_t private_data_len;
	uint8_t private_data[ADV_UCMA_MESSAGE_PRIVATE];
};

/* What the ends of an iWARP connection have agreed on (nic/iwarp/agreement.h). */
struct adv_ucma_agreement {
	uint32_t ird;
	uint32_t ord;
	uint8_t first; /* enum adv_rdmap_first */
	uint8_t crc;
	uint8_t rx_markers;
	uint8_t tx_markers;
};

struct adv_ucma_message {
	uint32_t magic;
	uint16_t version;
	uint16_t type;	 /* enum adv_ucma_command, in the answer too */
	uint32_t serial; /* chosen by the client, repeated in the answer */
	int32_t result;	 /* in answers: 0 or errno */
	uint32_t channel;
	uint32_t id;
	uint64_t value;
	union {
		struct {
			uint32_t port_space; /* enum rdma_port_space */
			uint32_t qp_type;    /* enum ibv_qp_type */
			uint32_t iwarp;	     /* 1: connections are those of iWARP */
			uint32_t crc;	     /* of iWARP: enum adv_mpa_crc */
			uint32_t markers;    /* of iWARP: 1: the peer is to send markers */
			uint32_t roce; /* enum adv_roce of the process (runtime/identity/roce.h) */
		} create;
		struct {
			union adv_ucma_sockaddr local; /* family 0: any */
			union adv_ucma_sockaddr remote;
			uint32_t timeout_ms;
		} addr;
		struct adv_ucma_route route;
		struct adv_ucma_conn conn;
		struct adv_ucma_agreement agreement;
		struct {
			struct ibv_qp_attr attr;
			int32_t mask;
			struct adv_ucma_route route; /* present */
		} qp_attr;
		struct {
			uint32_t level; /* RDMA_OPTION_ID, _IB */
			uint32_t name;
			uint32_t len;
			uint8_t data[64];
		} option;
		struct {
			union adv_ucma_sockaddr addr;
			uint32_t join_flags; /* enum rdma_cm_join_mc_attr's flags */
		} join;
		struct {
			uint32_t type; /* enum rdma_cm_event_type */
			int32_t status;
			uint32_t listen; /* CONNECT_REQUEST: id of the listener; message.id is the
					    new id */
			uint32_t multicast;  /* MULTICAST_*: number of the membership */
			uint32_t port_space; /* CONNECT_REQUEST */
			uint32_t qp_type;
			struct adv_ucma_route route; /* present route of message.id */
			struct adv_ucma_conn conn;   /* MULTICAST_JOIN: qp_num and qkey; dgid in
							route is the group */
		} event;
		uint8_t room[ADV_UCMA_MESSAGE_LEN - 32];
	} body;
};

_Static_assert(sizeof(struct adv_ucma_message) == ADV_UCMA_MESSAGE_LEN, "fixed by the protocol");

#endif
