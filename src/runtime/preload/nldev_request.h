/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request of NLDEV while it is being answered, and the helpers that all answers use. */
#ifndef ADV_RUNTIME_PRELOAD_NLDEV_REQUEST_H
#define ADV_RUNTIME_PRELOAD_NLDEV_REQUEST_H

#include <rdma/rdma_netlink.h>

#include "runtime/preload/netlink_writer.h"
#include "runtime/preload/nldev_source.h"

#define ADV_NLDEV_ATTRIBUTES RDMA_NLDEV_ATTR_MAX

struct adv_nldev_request {
	const struct adv_nldev_source *source;
	struct adv_netlink *answer;
	struct nlmsghdr head;
	uint32_t port;					/* netlink port of the sender */
	const uint8_t *attribute[ADV_NLDEV_ATTRIBUTES]; /* by type; NULL: absent */
	uint16_t length[ADV_NLDEV_ATTRIBUTES];
	struct adv_contents contents;
	const struct adv_rail *rail; /* the present device of `contents` ... */
	struct adv_gid_table gids;   /* ... and its table */
};

/* Reads an attribute of the request. False if it is absent or not a 32-bit number. */
bool adv_nldev_u32(const struct adv_nldev_request *r, unsigned type, uint32_t *value);
/* Reads the state of the devices. False: there is none. */
bool adv_nldev_read_devices(struct adv_nldev_request *r);
/* Makes the device with this index of the list the present one. */
void adv_nldev_use_device(struct adv_nldev_request *r, unsigned index);
/* Makes the device that the request names the present one. False: there is no such device. */
bool adv_nldev_find_device(struct adv_nldev_request *r);
/* As adv_nldev_find_device(), and the request names its port. */
bool adv_nldev_find_port(struct adv_nldev_request *r);

/* Calls fn for each object of a kind that the present device has. As adv_resources_each(). */
int adv_nldev_each(const struct adv_nldev_request *r, enum adv_resource_kind kind,
		   adv_resource_fn *fn, void *user);

/* Begins a message of the answer. one_of_many: with NLM_F_MULTI. */
void adv_nldev_begin(struct adv_nldev_request *r, bool one_of_many);
/* Adds the index and the name of the present device to the message. */
void adv_nldev_put_handle(struct adv_nldev_request *r);

#endif
