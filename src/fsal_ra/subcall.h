/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The one way into the sub-FSAL.
 *
 * A FSAL finds its own export in op_ctx->fsal_export. A stacked FSAL must therefore put the
 * sub-FSAL's export there for the length of each call downwards, and its own one for each call
 * upwards (a callback), and put back what it found. Only the macros below do that.
 */
#ifndef RA_SUBCALL_H
#define RA_SUBCALL_H

#include "ra_methods.h"

static inline struct ra_export *ra_export_of(struct fsal_export *exp_hdl)
{
	return container_of(exp_hdl, struct ra_export, export);
}

/* The export this operation is for. Handles are shared by exports, so it is not kept in them. */
static inline struct ra_export *ra_export_of_op(void)
{
	return ra_export_of(op_ctx->fsal_export);
}

static inline struct ra_handle *ra_handle_of(const struct fsal_obj_handle *obj_hdl)
{
	return container_of((struct fsal_obj_handle *)obj_hdl, struct ra_handle, obj_handle);
}

static inline struct fsal_obj_handle *ra_sub_of(const struct fsal_obj_handle *obj_hdl)
{
	return ra_handle_of(obj_hdl)->sub_handle;
}

/* A call that sets times of OBJ_HDL's inode, that of its change at least, had this STATUS: backing_cool(). */
static inline fsal_status_t ra_changed(struct fsal_obj_handle *obj_hdl, fsal_status_t status)
{
	backing_cool(&ra_handle_of(obj_hdl)->slot);
	return status;
}

/* Runs on scope exit, so a swap cannot be left half undone. */
struct ra_swap {
	struct fsal_export *saved;
};

static inline struct ra_swap ra_swap_in(struct fsal_export *exp_hdl)
{
	struct ra_swap swap = {.saved = op_ctx->fsal_export};

	op_ctx->fsal_export = exp_hdl;
	return swap;
}

static inline void ra_swap_out(struct ra_swap *swap)
{
	op_ctx->fsal_export = swap->saved;
}

#define RA_WITH_EXPORT(exp_hdl, expr)                                                              \
	({                                                                                         \
		struct ra_swap ra_swap_ __attribute__((cleanup(ra_swap_out), unused)) =            \
			ra_swap_in(exp_hdl);                                                       \
		expr;                                                                              \
	})

/* expr, seen from below: exp is our struct ra_export. Its value is expr's (which may be void). */
#define SUBCALL(exp, expr) RA_WITH_EXPORT((exp)->export.sub_export, expr)

/* expr, seen from above: for callbacks that the sub-FSAL makes. */
#define SUPERCALL(exp, expr) RA_WITH_EXPORT(&(exp)->export, expr)

/* A method of the sub-FSAL's handle: SUB_OBJ(obj_hdl, getattrs, attrs) */
#define SUB_OBJ(obj_hdl, method, ...)                                                              \
	({                                                                                         \
		struct fsal_obj_handle *ra_sub_ = ra_sub_of(obj_hdl);                              \
		SUBCALL(ra_export_of_op(), ra_sub_->obj_ops->method(ra_sub_, ##__VA_ARGS__));      \
	})

/* A method of the sub-FSAL's export: SUB_EXP(exp_hdl, fs_maxread) */
#define SUB_EXP(exp_hdl, method, ...)                                                              \
	({                                                                                         \
		struct fsal_export *ra_sub_ = (exp_hdl)->sub_export;                               \
		RA_WITH_EXPORT(ra_sub_, ra_sub_->exp_ops.method(ra_sub_, ##__VA_ARGS__));          \
	})

#endif /* RA_SUBCALL_H */
