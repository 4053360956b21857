/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a client's objects by the handles in requests. */
#ifndef ADV_RUNTIME_UCMA_FIND_H
#define ADV_RUNTIME_UCMA_FIND_H

#include "runtime/ucma/state.h"

/*
 * Carries out a request: changes *m into the answer and returns the result, 0 or errno. *fd is -1
 * at the call. If the handler sets *fd, this descriptor is sent with the answer and then closed.
 */
typedef int adv_ucma_handler(struct adv_ucma_client *c, struct adv_ucma_message *m, int *fd);

/* Returns the client's id with this handle, or NULL and *error: ENOENT. */
struct adv_ucma_id *adv_ucma_id_find(struct adv_ucma_client *c, uint32_t handle, int *error);
/* As adv_ucma_id_find(), but fails with EINVAL if the id is bound to no device. */
struct adv_ucma_id *adv_ucma_id_find_bound(struct adv_ucma_client *c, uint32_t handle, int *error);
/* Returns the client's channel with this handle, or NULL. */
struct adv_ucma_channel *adv_ucma_channel_find(struct adv_ucma_client *c, uint32_t handle);

#endif
