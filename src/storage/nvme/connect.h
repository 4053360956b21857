/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What two ends exchange to make a queue: the private data of the RDMA connection (NVMe over
 * Fabrics 1.1, section 7.3.6.2 to 7.3.6.4), the Connect command with its data, and the Property
 * commands (section 3). Numbers of the structures are in host byte order.
 */
#ifndef ADV_STORAGE_NVME_CONNECT_H
#define ADV_STORAGE_NVME_CONNECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/nvme/command.h"

#define ADV_NVME_CM_LEN		  32   /* private data of REQ and REP */
#define ADV_NVME_CM_REJ_LEN	  4    /* private data of REJ */
#define ADV_NVME_CONNECT_LEN	  1024 /* data of the Connect command */
#define ADV_NVME_NQN_MAX	  223  /* characters of an NQN, without the final 0 */
#define ADV_NVME_NQN_LEN	  256  /* bytes of an NQN in a structure */
#define ADV_NVME_HOST_ID_LEN	  16
#define ADV_NVME_ANY_CNTLID	  0xffff /* the controller chooses its id: the dynamic model */
#define ADV_NVME_DISCOVERY_NQN	  "nqn.2014-08.org.nvmexpress.discovery"
#define ADV_NVME_ADMIN_QUEUE_SIZE 32   /* the smallest size of an admin queue */
#define ADV_NVME_NO_FLOW_CONTROL  0x04 /* cattr: without submission queue flow control */

/* The private data of a connection request. */
struct adv_nvme_cm_request {
	uint16_t qid;
	uint16_t hrqsize; /* size of the host's receive queue: entries of the queue */
	uint16_t hsqsize; /* size of the host's send queue, 0's based */
	uint16_t cntlid;  /* 0xffff, or 0 from older hosts: not stated */
};

/* Why a connection is refused: the status of the private data of a REJ. */
enum adv_nvme_cm_status {
	ADV_NVME_CM_OK = 0,
	ADV_NVME_CM_INVALID_LENGTH = 1,
	ADV_NVME_CM_INVALID_RECFMT = 2,
	ADV_NVME_CM_INVALID_QID = 3,
	ADV_NVME_CM_INVALID_HSQSIZE = 4,
	ADV_NVME_CM_INVALID_HRQSIZE = 5,
	ADV_NVME_CM_NO_RESOURCES = 6,
	ADV_NVME_CM_INVALID_IRD = 7,
	ADV_NVME_CM_INVALID_ORD = 8,
	ADV_NVME_CM_INVALID_CNTLID = 9,
};

/* Decodes the private data of a REQ of `len` bytes (the CM pads it with zeros). */
enum adv_nvme_cm_status adv_nvme_cm_request_decode(const uint8_t *in, size_t len,
						   struct adv_nvme_cm_request *request);
void adv_nvme_cm_request_encode(const struct adv_nvme_cm_request *request,
				uint8_t out[ADV_NVME_CM_LEN]);

/* The private data of a REP: the size of the controller's receive queue. Decoding is false if the
 * data is too short or of another format. */
bool adv_nvme_cm_accept_decode(const uint8_t *in, size_t len, uint16_t *crqsize);
void adv_nvme_cm_accept_encode(uint16_t crqsize, uint8_t out[ADV_NVME_CM_LEN]);

bool adv_nvme_cm_reject_decode(const uint8_t *in, size_t len, uint16_t *status);
void adv_nvme_cm_reject_encode(uint16_t status, uint8_t out[ADV_NVME_CM_REJ_LEN]);
/* Returns the reason in words. Never NULL. */
const char *adv_nvme_cm_status_name(uint16_t status);

/* The fields of a Connect command. */
struct adv_nvme_connect {
	uint16_t recfmt;
	uint16_t qid;
	uint16_t sqsize; /* 0's based */
	uint8_t cattr;
	uint32_t kato; /* ms; 0: no keep alive timer */
};

void adv_nvme_connect_decode(const struct adv_nvme_command *command,
			     struct adv_nvme_connect *connect);
/* Sets opcode, type and Dwords; the caller sets the SGL. */
void adv_nvme_connect_encode(const struct adv_nvme_connect *connect,
			     struct adv_nvme_command *command);

/* The data of a Connect command. */
struct adv_nvme_connect_data {
	uint8_t host_id[ADV_NVME_HOST_ID_LEN];
	uint16_t cntlid;
	char subsystem_nqn[ADV_NVME_NQN_LEN];
	char host_nqn[ADV_NVME_NQN_LEN];
};

/* Decodes the data. NQNs that do not end are not accepted: returns 0, or the offset of the wrong
 * field. `len` must be ADV_NVME_CONNECT_LEN. */
unsigned adv_nvme_connect_data_decode(const uint8_t in[ADV_NVME_CONNECT_LEN],
				      struct adv_nvme_connect_data *data);
void adv_nvme_connect_data_encode(const struct adv_nvme_connect_data *data,
				  uint8_t out[ADV_NVME_CONNECT_LEN]);

/* Offsets of fields, which a refused Connect names. */
#define ADV_NVME_CONNECT_AT_QID	    42
#define ADV_NVME_CONNECT_AT_SQSIZE  44
#define ADV_NVME_CONNECT_AT_HOSTID  0
#define ADV_NVME_CONNECT_AT_CNTLID  16
#define ADV_NVME_CONNECT_AT_SUBNQN  256
#define ADV_NVME_CONNECT_AT_HOSTNQN 512

/* True if `nqn` is an NVMe Qualified Name: from 1 to 223 bytes of printable characters that begin
 * with "nqn." and have a date or "2014-08.org.nvmexpress" (NVMe Base 1.4, section 7.9). */
bool adv_nvme_nqn_valid(const char *nqn);

/* Properties: offsets of the controller's registers (section 3.5). */
enum adv_nvme_property {
	ADV_NVME_CAP = 0x00,  /* 8 bytes */
	ADV_NVME_VS = 0x08,   /* 4 bytes */
	ADV_NVME_CC = 0x14,   /* 4 bytes */
	ADV_NVME_CSTS = 0x1c, /* 4 bytes */
	ADV_NVME_NSSR = 0x20, /* 4 bytes */
};

#define ADV_NVME_CC_ENABLE	    0x1u
#define ADV_NVME_CC_SHUTDOWN(cc)    ((cc) >> 14 & 3)
#define ADV_NVME_CC_SHUTDOWN_NORMAL (1u << 14)
#define ADV_NVME_CC_DEFAULT	    0x00460000u /* IOSQES 6, IOCQES 4 */
#define ADV_NVME_CSTS_READY	    0x1u
#define ADV_NVME_CSTS_FATAL	    0x2u
#define ADV_NVME_CSTS_SHUTTING_DOWN 0x4u /* shutdown processing occurs */
#define ADV_NVME_CSTS_SHUT_DOWN	    0x8u /* shutdown processing complete */
#define ADV_NVME_CSTS_SHUTDOWN_MASK 0xcu

struct adv_nvme_property_access {
	bool wide; /* 8 bytes */
	uint32_t offset;
	uint64_t value; /* of a Property Set */
};

/* False: the attributes name a size that does not exist. */
bool adv_nvme_property_decode(const struct adv_nvme_command *command,
			      struct adv_nvme_property_access *access);
/* Sets opcode, type and Dwords of a Property Set (`set`) or Get. */
void adv_nvme_property_encode(const struct adv_nvme_property_access *access, bool set,
			      struct adv_nvme_command *command);

#endif
