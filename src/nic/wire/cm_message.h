/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes and encodes the messages of communication management (IBTA vol. 1, 12.6 to 12.8
 * and 12.11). Fields are in host order, except GIDs and private data, which are bytes as on the
 * wire.
 *
 * Reserved fields are sent as 0 and ignored on receipt, with one exception: Linux's enhanced
 * connection establishment (ECE). Its vendor ID is in reserved bits of REQ, REP and SIDR_REP
 * (ece_vendor here). Its options are in the attribute modifier of the MAD header.
 */
#ifndef ADV_NIC_WIRE_CM_MESSAGE_H
#define ADV_NIC_WIRE_CM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/wire/mad.h"
#include "nic/wire/packet.h"

#define ADV_CM_CLASS_VERSION 2

/* Bytes of private data of each message, and of additional information (ARI). */
#define ADV_CM_REQ_PRIVATE_LEN	    92
#define ADV_CM_MRA_PRIVATE_LEN	    222
#define ADV_CM_REJ_PRIVATE_LEN	    148
#define ADV_CM_REP_PRIVATE_LEN	    196
#define ADV_CM_RTU_PRIVATE_LEN	    224
#define ADV_CM_DREQ_PRIVATE_LEN	    220
#define ADV_CM_DREP_PRIVATE_LEN	    224
#define ADV_CM_LAP_PRIVATE_LEN	    168
#define ADV_CM_APR_PRIVATE_LEN	    148
#define ADV_CM_SIDR_REQ_PRIVATE_LEN 216
#define ADV_CM_SIDR_REP_PRIVATE_LEN 136
#define ADV_CM_INFO_LEN		    72

/* MAD attribute IDs (table 104). */
enum adv_cm_attribute {
	ADV_CM_REQ = 0x10,	/* request for communication */
	ADV_CM_MRA = 0x11,	/* message receipt acknowledgement */
	ADV_CM_REJ = 0x12,	/* reject */
	ADV_CM_REP = 0x13,	/* reply to request */
	ADV_CM_RTU = 0x14,	/* ready to use */
	ADV_CM_DREQ = 0x15,	/* request for release */
	ADV_CM_DREP = 0x16,	/* reply to request for release */
	ADV_CM_SIDR_REQ = 0x17, /* service ID resolution request */
	ADV_CM_SIDR_REP = 0x18,
	ADV_CM_LAP = 0x19, /* load alternate path */
	ADV_CM_APR = 0x1a, /* alternate path response */
};

/* Transport service type. If it is 3, the extended type counts; the extended type 1 is XRC (annex
 * A14). */
enum adv_cm_transport {
	ADV_CM_TRANSPORT_RC = 0,
	ADV_CM_TRANSPORT_UC = 1,
	ADV_CM_TRANSPORT_RD = 2,
	ADV_CM_TRANSPORT_EXTENDED = 3,
};
#define ADV_CM_EXTENDED_XRC 1

/* The message that a REJ rejects or an MRA acknowledges: two bits. */
enum adv_cm_about { ADV_CM_ABOUT_REQ = 0, ADV_CM_ABOUT_REP = 1, ADV_CM_ABOUT_OTHER = 2 };

/* The reason of a REJ (table 109). Only a reason with a comment "information" uses the additional
 * information. */
enum adv_cm_rej_reason {
	ADV_CM_REJ_NO_QP = 1,
	ADV_CM_REJ_NO_EEC = 2,
	ADV_CM_REJ_NO_RESOURCES = 3,
	ADV_CM_REJ_TIMEOUT = 4, /* information: the sender's CA GUID */
	ADV_CM_REJ_UNSUPPORTED = 5,
	ADV_CM_REJ_INVALID_COMM_ID = 6,
	ADV_CM_REJ_INVALID_COMM_INSTANCE = 7,
	ADV_CM_REJ_INVALID_SERVICE_ID = 8, /* there is no listener */
	ADV_CM_REJ_INVALID_TRANSPORT_TYPE = 9,
	ADV_CM_REJ_STALE_CONN = 10, /* the QP already belongs to a connection */
	ADV_CM_REJ_RDC_NOT_EXIST = 11,
	ADV_CM_REJ_INVALID_GID = 12,
	ADV_CM_REJ_INVALID_LID = 13,
	ADV_CM_REJ_INVALID_SL = 14,
	ADV_CM_REJ_INVALID_TRAFFIC_CLASS = 15,
	ADV_CM_REJ_INVALID_HOP_LIMIT = 16,
	ADV_CM_REJ_INVALID_PACKET_RATE = 17,
	ADV_CM_REJ_INVALID_ALT_GID = 18,
	ADV_CM_REJ_INVALID_ALT_LID = 19,
	ADV_CM_REJ_INVALID_ALT_SL = 20,
	ADV_CM_REJ_INVALID_ALT_TRAFFIC_CLASS = 21,
	ADV_CM_REJ_INVALID_ALT_HOP_LIMIT = 22,
	ADV_CM_REJ_INVALID_ALT_PACKET_RATE = 23,
	ADV_CM_REJ_PORT_CM_REDIRECT = 24,
	ADV_CM_REJ_PORT_REDIRECT = 25,
	ADV_CM_REJ_INVALID_MTU = 26,
	ADV_CM_REJ_INSUFFICIENT_RESP_RESOURCES = 27,
	ADV_CM_REJ_CONSUMER_DEFINED = 28, /* rdma_reject */
	ADV_CM_REJ_INVALID_RNR_RETRY = 29,
	ADV_CM_REJ_DUPLICATE_LOCAL_COMM_ID = 30,
	ADV_CM_REJ_INVALID_CLASS_VERSION = 31,
	ADV_CM_REJ_INVALID_FLOW_LABEL = 32,
	ADV_CM_REJ_INVALID_ALT_FLOW_LABEL = 33,
	ADV_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED = 35, /* ECE */
};

/* Status of a SIDR_REP (table 121). */
enum adv_cm_sidr_status {
	ADV_CM_SIDR_SUCCESS = 0,
	ADV_CM_SIDR_UNSUPPORTED = 1, /* there is no listener */
	ADV_CM_SIDR_REJECT = 2,
	ADV_CM_SIDR_NO_QP = 3,
	ADV_CM_SIDR_REDIRECT = 4,
	ADV_CM_SIDR_UNSUPPORTED_VERSION = 5,
};

/* Status of an APR (table 117). A port without alternate paths sends only this status. */
#define ADV_CM_APR_UNSUPPORTED 2

/* A path in REQ and LAP. "Local" is the end of the sender. */
struct adv_cm_path {
	uint16_t local_lid; /* RoCE: 0xffff, as Linux sends for any hop limit above 1 */
	uint16_t remote_lid;
	struct adv_gid local_gid;
	struct adv_gid remote_gid;
	uint32_t flow_label; /* 20 bits */
	uint8_t packet_rate; /* 6 bits, enum ibv_rate */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;		   /* 4 bits */
	bool subnet_local;	   /* hop limit of at most 1 */
	uint8_t local_ack_timeout; /* 5 bits: 4.096 us << local_ack_timeout */
};

struct adv_cm_req {
	uint32_t local_comm_id;
	uint32_t ece_vendor; /* 24 bits */
	uint64_t service_id;
	uint64_t local_ca_guid;
	uint32_t local_qkey;
	uint32_t local_qpn; /* 24 bits, like all QP numbers, EE contexts and PSNs here */
	uint8_t responder_resources;
	uint32_t local_eecn;
	uint8_t initiator_depth;
	uint32_t remote_eecn;
	uint8_t remote_response_timeout; /* 5 bits: time that the receiver has to answer */
	uint8_t transport;		 /* enum adv_cm_transport */
	bool flow_control;		 /* end to end */
	uint32_t starting_psn;
	uint8_t local_response_timeout; /* 5 bits: time that the sender needs to answer */
	uint8_t retry_count;		/* 3 bits */
	uint16_t pkey;
	uint8_t path_mtu; /* 4 bits: 1 is 256 bytes, 5 is 4096 */
	bool rdc_exists;
	uint8_t rnr_retry_count; /* 3 bits; 7: no limit */
	uint8_t max_cm_retries;	 /* 4 bits */
	bool srq;
	uint8_t extended_transport; /* 3 bits, see ADV_CM_EXTENDED_XRC */
	struct adv_cm_path primary;
	struct adv_cm_path alternate; /* all zero: no alternate path */
	bool sap_supported;	      /* suggested alternate path messages */
	uint8_t private_data[ADV_CM_REQ_PRIVATE_LEN];
};

struct adv_cm_mra {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t about;		 /* enum adv_cm_about */
	uint8_t service_timeout; /* 5 bits */
	uint8_t private_data[ADV_CM_MRA_PRIVATE_LEN];
};

struct adv_cm_rej {
	uint32_t local_comm_id; /* 0: the sender has no ID yet */
	uint32_t remote_comm_id;
	uint8_t about; /* enum adv_cm_about */
	uint8_t info_len;
	uint16_t reason; /* enum adv_cm_rej_reason, or any other number */
	uint8_t info[ADV_CM_INFO_LEN];
	uint8_t private_data[ADV_CM_REJ_PRIVATE_LEN];
};

struct adv_cm_rep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t local_qkey;
	uint32_t local_qpn;  /* XRC: the SRQ's number */
	uint32_t local_eecn; /* XRC: the number of the target QP */
	uint32_t starting_psn;
	uint32_t ece_vendor; /* 24 bits */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay; /* 5 bits */
	uint8_t failover; /* 2 bits: 0 alternate path accepted, 1 not supported, 2 rejected */
	bool flow_control;
	uint8_t rnr_retry_count; /* 3 bits */
	bool srq;
	uint64_t local_ca_guid;
	uint8_t private_data[ADV_CM_REP_PRIVATE_LEN];
};

struct adv_cm_rtu {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t private_data[ADV_CM_RTU_PRIVATE_LEN];
};

struct adv_cm_dreq {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t remote_qpn; /* the receiver's QP */
	uint8_t private_data[ADV_CM_DREQ_PRIVATE_LEN];
};

struct adv_cm_drep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t private_data[ADV_CM_DREP_PRIVATE_LEN];
};

struct adv_cm_lap {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t remote_qpn;
	uint8_t remote_response_timeout; /* 5 bits */
	struct adv_cm_path alternate;
	uint8_t private_data[ADV_CM_LAP_PRIVATE_LEN];
};

struct adv_cm_apr {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t info_len;
	uint8_t status;
	uint8_t info[ADV_CM_INFO_LEN];
	uint8_t private_data[ADV_CM_APR_PRIVATE_LEN];
};

struct adv_cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
	uint8_t private_data[ADV_CM_SIDR_REQ_PRIVATE_LEN];
};

struct adv_cm_sidr_rep {
	uint32_t request_id;
	uint8_t status; /* enum adv_cm_sidr_status */
	uint8_t info_len;
	uint32_t ece_vendor; /* 24 bits */
	uint32_t qpn;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[ADV_CM_INFO_LEN];
	uint8_t private_data[ADV_CM_SIDR_REP_PRIVATE_LEN];
};

/* Any message; `attribute` selects the member. */
struct adv_cm_packet {
	uint16_t attribute; /* enum adv_cm_attribute */
	uint64_t tid;
	uint32_t modifier; /* REQ, REP, SIDR_REP: options of ECE; else 0 */
	union {
		struct adv_cm_req req;
		struct adv_cm_mra mra;
		struct adv_cm_rej rej;
		struct adv_cm_rep rep;
		struct adv_cm_rtu rtu;
		struct adv_cm_dreq dreq;
		struct adv_cm_drep drep;
		struct adv_cm_lap lap;
		struct adv_cm_apr apr;
		struct adv_cm_sidr_req sidr_req;
		struct adv_cm_sidr_rep sidr_rep;
	};
};

/*
 * Decodes a MAD. Returns false, and *m is unspecified, if
 * - it does not have ADV_MAD_LEN bytes,
 * - it is not of the CM's class, version and method, or its attribute is unknown,
 * - a length of additional information exceeds the field.
 */
bool adv_cm_packet_decode(const uint8_t *p, size_t len, struct adv_cm_packet *m);

/*
 * Encodes a whole MAD. Fields are cut to their width. Returns false, and writes nothing, if the
 * attribute is unknown or a length of additional information exceeds the field.
 */
bool adv_cm_packet_encode(const struct adv_cm_packet *m, uint8_t out[ADV_MAD_LEN]);

#endif
