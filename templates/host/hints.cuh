// Loads and stores with a hint for the caches, which a CPU does without.
#pragma once

template <class T> OW_INLINE T __ldg(const T* p) { return *p; }
template <class T> OW_INLINE T __ldca(const T* p) { return *p; }
template <class T> OW_INLINE T __ldcg(const T* p) { return *p; }
template <class T> OW_INLINE T __ldcs(const T* p) { return *p; }
template <class T> OW_INLINE T __ldlu(const T* p) { return *p; }
template <class T> OW_INLINE T __ldcv(const T* p) { return *(const volatile T*)p; }
template <class T> OW_INLINE void __stwb(T* p, typename OwSame<T>::type x) { *p = x; }
template <class T> OW_INLINE void __stcg(T* p, typename OwSame<T>::type x) { *p = x; }
template <class T> OW_INLINE void __stcs(T* p, typename OwSame<T>::type x) { *p = x; }
template <class T> OW_INLINE void __stwt(T* p, typename OwSame<T>::type x) { *p = x; }
