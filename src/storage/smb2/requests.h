/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The server's side of RDMA channels, for a server that has none: READ and WRITE requests with an
 * RDMA channel become requests without one, and the data of READ responses is taken out again
 * (MS-SMB2, sections 3.3.5.12 and 3.3.5.13). The caller moves the data.
 */
#ifndef ADV_STORAGE_SMB2_REQUESTS_H
#define ADV_STORAGE_SMB2_REQUESTS_H

#include <sys/uio.h>

#include "base/list.h"
#include "storage/smb2/message.h"
#include "storage/smbdirect/message.h"

enum {
	/* Most RDMA transfers of a message, and descriptors of a transfer. Linux has one each. */
	ADV_SMB2_TRANSFERS_MAX = 8,
	ADV_SMB2_DESCRIPTORS_MAX = 32,
	ADV_SMB2_PARTS_MAX = 3 * ADV_SMB2_TRANSFERS_MAX + 1,
	/* Requests with RDMA channels that wait for their responses. */
	ADV_SMB2_PENDING_MAX = 512,
};

/* A request with an RDMA channel. */
struct adv_smb2_transfer {
	struct adv_list link;		 /* adv_smb2_requests.pending */
	struct adv_smb2_element element; /* in the message that has it */
	uint64_t message_id;
	uint16_t command;
	bool sent;	 /* the request has been joined: a response may arrive */
	bool invalidate; /* the response has to invalidate the first descriptor's token */
	uint32_t length; /* bytes of data; 0 if the request was refused */
	uint32_t out;	 /* READ responses: offset of the data in the message */
	unsigned count;
	struct adv_smbd_descriptor descriptors[];
};

/* The requests of a connection that wait for responses. */
struct adv_smb2_requests {
	struct adv_list pending;
	unsigned count;
	uint32_t longest;  /* bytes of a transfer */
	unsigned refusals; /* requests that were made wrong, ever */
};

/* What has to be moved for a message, and what is left of it. */
struct adv_smb2_plan {
	struct adv_smb2_transfer *transfer[ADV_SMB2_TRANSFERS_MAX];
	unsigned count;
	uint32_t key; /* of the client, to invalidate with the response; 0: none */
	struct iovec parts[ADV_SMB2_PARTS_MAX];
	unsigned part_count;
	size_t length; /* of all parts */
};

void adv_smb2_requests_init(struct adv_smb2_requests *r, uint32_t longest);
void adv_smb2_requests_free(struct adv_smb2_requests *r);

/* Reads a client's message, and changes it. plan->transfer has the requests with RDMA channels,
 * which belong to `r`: the data of WRITEs is to be fetched before adv_smb2_request_join(). False:
 * the message is wrong, there are too many requests, or no memory. */
bool adv_smb2_request_plan(struct adv_smb2_requests *r, uint8_t *message, size_t length,
			   struct adv_smb2_plan *plan);
/* Fills in plan->parts: the message with the fetched data. data[i] is that of transfer[i], if it is
 * a WRITE. The parts point into the message and the data. */
void adv_smb2_request_join(struct adv_smb2_plan *plan, uint8_t *message, size_t length,
			   uint8_t *const data[]);

/* Reads a server's message, and changes it. plan->transfer has the READs with data: `out` and
 * `length` tell where it is in the message; plan->parts is what is left. The transfers belong to
 * the plan. False: the message is wrong. */
bool adv_smb2_response_plan(struct adv_smb2_requests *r, uint8_t *message, size_t length,
			    struct adv_smb2_plan *plan);
/* Frees the transfers of a response's plan. */
void adv_smb2_plan_free(struct adv_smb2_plan *plan);

#endif
